package actor

import (
	"github.com/gpuactor/gpuactor/buffer"
)

// Selector waits for the first of several channel operations. It is made once, by
// the actor that uses it, and reused without allocating:
//
//	var item Item
//	var stop struct{}
//	sel := actor.NewSelector(actor.Receiving(items, &item), actor.Receiving(stops, &stop))
//	for {
//		i, err := sel.Wait(s)
//		...
//	}
type Selector struct {
	cases []Case
	from  int // where the next Wait looks first, so that no case is starved
}

// Case is one operation of a [Selector].
type Case interface {
	// try does the operation, or, with w, enters it among the waiting.
	try(s *Stream, w *waiter) (done bool, err error)
	// leave ends a wait that has not been used.
	leave(w *waiter)
	slot() *waiter
}

// NewSelector makes a selector of some cases, numbered from 0.
func NewSelector(cases ...Case) *Selector { return &Selector{cases: cases} }

// Wait does one of the operations and reports which. Of several that are possible
// each gets its turn. The error is that of the operation, [ErrClosed] where the
// channel is closed; or the cause of the context's end, with a number of -1.
func (sel *Selector) Wait(s *Stream) (int, error) {
	if err := s.check(); err != nil {
		return -1, err
	}
	for {
		for k := range sel.cases {
			i := (sel.from + k) % len(sel.cases)
			if done, err := sel.cases[i].try(s, nil); done {
				sel.from = i + 1
				return i, err
			}
		}
		if i, done, err := sel.block(s); done {
			return i, err
		}
	}
}

// Drop takes the ith case out of the selection: after its channel has been closed,
// say. The numbers of the others stay.
func (sel *Selector) Drop(i int) { sel.cases[i] = never{} }

// block enters every case among the waiting and suspends the actor once.
func (sel *Selector) block(s *Stream) (int, bool, error) {
	defer func() {
		for _, c := range sel.cases {
			c.leave(c.slot())
		}
	}()
	for i, c := range sel.cases {
		if w := c.slot(); w != nil {
			w.s = s
			if done, err := c.try(s, w); done {
				return i, true, err
			}
		}
	}
	if err := s.cause(); err != nil {
		return -1, true, err
	}
	if s.cuda.Unsettled() {
		if _, err := s.cuda.Flush(false); err != nil {
			return -1, true, err
		}
	}
	s.selects = sel
	s.park()
	s.selects = nil
	return 0, false, nil
}

type never struct{}

func (never) try(*Stream, *waiter) (bool, error) { return false, nil }
func (never) leave(*waiter)                      {}
func (never) slot() *waiter                      { return nil }

type receiving[T any] struct {
	c    *Chan[T]
	into *T
	wait waiter
}

// Receiving is the case that receives from c into v, as [Chan.Recv] does.
func Receiving[T any](c *Chan[T], v *T) Case { return &receiving[T]{c: c, into: v} }

func (r *receiving[T]) slot() *waiter { return &r.wait }

func (r *receiving[T]) try(s *Stream, w *waiter) (bool, error) {
	c := r.c
	c.mu.Lock()
	c.expect(s.cuda)
	switch {
	case c.n > 0:
		v, next := c.receive(&r.wait, &s.handles)
		c.mu.Unlock()
		next.wakeFrom(s.t)
		*r.into = v
		return true, buffer.Take(s.owner, &s.handles)
	case c.closed:
		c.mu.Unlock()
		return true, ErrClosed
	case w != nil:
		c.receivers.add(w)
	}
	c.mu.Unlock()
	return false, nil
}

func (r *receiving[T]) leave(w *waiter) {
	r.c.unwait(&r.c.receivers, w, func() bool { return r.c.n > 0 })
}

type sending[T any] struct {
	c    *Chan[T]
	from *T
	wait waiter
}

// Sending is the case that sends *v to c, as [Chan.Send] does. What *v is when Wait
// is called is what is sent.
func Sending[T any](c *Chan[T], v *T) Case { return &sending[T]{c: c, from: v} }

func (x *sending[T]) slot() *waiter { return &x.wait }

func (x *sending[T]) try(s *Stream, w *waiter) (bool, error) {
	c := x.c
	p, err := c.prepare(s, x.from)
	if err != nil {
		return true, err
	}
	c.mu.Lock()
	done, err := c.offer(s, x.from, p)
	if done || err != nil {
		next := c.afterSend(&x.wait, done)
		c.mu.Unlock()
		next.wakeFrom(s.t)
		return true, err
	}
	if w != nil {
		c.senders.add(w)
	}
	c.mu.Unlock()
	return false, nil
}

func (x *sending[T]) leave(w *waiter) {
	x.c.unwait(&x.c.senders, w, func() bool { return x.c.n < len(x.c.ring) })
}

// unwait ends a selector's wait. Where it had been woken and the operation is still
// possible, somebody else is woken for it.
func (c *Chan[T]) unwait(q *waitQueue, w *waiter, possible func() bool) {
	c.mu.Lock()
	var next *waiter
	if w.q == q {
		q.remove(w)
	} else if possible() {
		next = q.pop()
	}
	c.mu.Unlock()
	next.wakeFrom(nil)
}
