package actor

import (
	"context"

	"github.com/gpuactor/gpuactor/actor/internal/seam"
)

// waiter is somebody who waits for a channel or a mailbox: a stream actor, which
// is resumed, or an ordinary goroutine, which gets a signal.
type waiter struct {
	s  *Stream
	ch chan struct{} // of an ordinary goroutine, with room for one signal

	q          *waitQueue // where it stands; nil once it has been woken
	next, prev *waiter
}

func (w *waiter) wake() {
	if w.s != nil {
		w.s.unpark()
		return
	}
	select {
	case w.ch <- struct{}{}:
	default:
	}
	if seam.Woke != nil {
		seam.Woke()
	}
}

// await waits, as an ordinary goroutine, for a signal or the end of ctx, whose cause is
// returned then. A signal that is there counts, whatever else is.
func (w *waiter) await(ctx context.Context) error {
	select {
	case <-w.ch:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-w.ch:
		return nil
	default:
		return context.Cause(ctx)
	}
}

// wakeFrom is wake, from code that runs on thread t: an actor of the same thread
// needs neither lock nor wake-up. A nil w is nobody, a nil t any goroutine.
func (w *waiter) wakeFrom(t *Thread) {
	switch {
	case w == nil:
	case t != nil && w.s != nil && w.s.t == t:
		t.resumeSoon(w.s)
	case t != nil && w.s == nil:
		t.gaveWork.Store(true)
		w.wake()
	default:
		w.wake()
	}
}

// waitQueue is first come, first woken. Its owner's lock guards it.
type waitQueue struct {
	first, last *waiter
	of          waited // what is waited for, nil for a mailbox
}

// waited is a channel, as who waits for it is asked about.
type waited interface {
	Len() int
	Cap() int
	of() string // the type of its values
}

func (q *waitQueue) add(w *waiter) {
	if w.q != nil {
		return
	}
	w.q, w.prev, w.next = q, q.last, nil
	if q.last != nil {
		q.last.next = w
	} else {
		q.first = w
	}
	q.last = w
}

func (q *waitQueue) remove(w *waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		q.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		q.last = w.prev
	}
	w.q, w.next, w.prev = nil, nil, nil
}

// pop takes the first one, nil where nobody waits. The caller wakes it when it has
// let go of the lock.
func (q *waitQueue) pop() *waiter {
	w := q.first
	if w != nil {
		q.remove(w)
	}
	return w
}

// leave ends w's wait in q. Where w has been woken for something that it will not
// take, the next one is returned, to be woken in its place: no wake-up is lost.
func (q *waitQueue) leave(w *waiter) *waiter {
	if w.q == q {
		q.remove(w)
		return nil
	}
	return q.pop()
}
