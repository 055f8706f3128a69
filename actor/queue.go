package actor

// queue is a first-in first-out ring that grows, its size a power of two. It is not
// synchronised.
type queue[T any] struct {
	ring []T
	head int
	n    int
}

func (q *queue[T]) push(v T) {
	if q.n == len(q.ring) {
		ring := make([]T, max(8, 2*len(q.ring)))
		for i := range q.n {
			ring[i] = q.ring[(q.head+i)&(len(q.ring)-1)]
		}
		q.ring, q.head = ring, 0
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = v
	q.n++
}

func (q *queue[T]) pop() (v T, ok bool) {
	if q.n == 0 {
		return v, false
	}
	var zero T
	v, q.ring[q.head] = q.ring[q.head], zero
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return v, true
}

// take removes the ith element; the others keep their order.
func (q *queue[T]) take(i int) T {
	var zero T
	at := func(k int) *T { return &q.ring[(q.head+k)&(len(q.ring)-1)] }
	v := *at(i)
	for ; i > 0; i-- {
		*at(i) = *at(i - 1)
	}
	*at(0) = zero
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	return v
}

func (q *queue[T]) len() int { return q.n }

// at is the ith element.
func (q *queue[T]) at(i int) T { return q.ring[(q.head+i)&(len(q.ring)-1)] }
