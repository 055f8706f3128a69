package actor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/device"
)

// Chan is a hand-off channel: bounded, for any number of senders and receivers.
// What is sent through it changes its owner, together with the point of its last
// use. T is a buffer, a host buffer, a struct or an array of them, a
// [buffer.Carrier], or a plain value.
//
// Stream actors call Send, Recv and All; ordinary goroutines, which have no stream,
// SendCtx and RecvCtx, for values that carry no device memory. A value that was not
// delivered stays its sender's; what is in the channel when nobody will receive any
// more is released by Discard.
//
// Order: first in, first out. A send happens before the receive of its value.
type Chan[T any] struct {
	plan buffer.Plan

	// to is the stream that has received so far, severalStreams after a second
	// one, nil before the first. A sender records an event where it expects
	// another stream; where nobody has received yet nobody is expected, and a
	// receiver that comes all the same records on the sender's behalf, once.
	to atomic.Pointer[device.Stream]

	mu        sync.Mutex
	ring      []T
	head, n   int
	closed    bool
	senders   waitQueue
	receivers waitQueue
	scratch   buffer.Handles // under mu
}

var severalStreams device.Stream

// NewChan makes a channel that holds up to bound values, at least one. It panics
// where T hides buffers that a hand-off would miss: that is a mistake in the
// program, and the message says how to mend it.
func NewChan[T any](bound int) *Chan[T] {
	plan, err := buffer.PlanOf[T]()
	if err != nil {
		panic(fmt.Sprintf("actor: NewChan: %v", err))
	}
	c := &Chan[T]{plan: plan, ring: make([]T, max(bound, 1))}
	c.senders.of, c.receivers.of = c, c
	return c
}

func (c *Chan[T]) of() string { return reflect.TypeFor[T]().String() }

// Len is how many values are in the channel, and Cap how many it holds.
func (c *Chan[T]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// Cap is the channel's bound.
func (c *Chan[T]) Cap() int { return len(c.ring) }

// Close ends sending. What is in the channel can still be received. A second Close
// does nothing.
func (c *Chan[T]) Close() {
	c.mu.Lock()
	c.closed = true
	var all []*waiter
	for w := c.receivers.pop(); w != nil; w = c.receivers.pop() {
		all = append(all, w)
	}
	for w := c.senders.pop(); w != nil; w = c.senders.pop() {
		all = append(all, w)
	}
	c.mu.Unlock()
	for _, w := range all {
		w.wake()
	}
}

// NotCarried marks a channel as no contents of a value that holds it: a request may
// carry buffers, and the channel that its answer shall come through.
func (c *Chan[T]) NotCarried() {}

// Discard closes the channel and releases what is in it, in the order of whoever
// sent it. It reports how many buffers that were.
func (c *Chan[T]) Discard() int {
	c.Close()
	dropped := 0
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.n > 0 {
		c.scratch.Reset()
		c.collectLocked(&c.ring[c.head], &c.scratch)
		dropped += buffer.Drop(&c.scratch)
		c.advance()
	}
	return dropped
}

// Send hands v over. What s has issued is submitted first, so that the receiver can
// wait for it. A full channel suspends s, until its context ends. On an error v
// is still s's: [ErrClosed], an [*buffer.OwnershipError], the context's cause, or
// what the driver refused.
func (c *Chan[T]) Send(s *Stream, v T) error {
	p, err := c.prepare(s, &v)
	if err != nil {
		return err
	}
	for {
		c.mu.Lock()
		done, err := c.offer(s, &v, p)
		if !done && err == nil {
			c.senders.add(&s.wait)
			c.mu.Unlock()
		} else {
			next := c.afterSend(&s.wait, done)
			c.mu.Unlock()
			next.wakeFrom(s.t)
			return err
		}
		if err := s.cause(); err != nil {
			return c.giveUp(&c.senders, &s.wait, err)
		}
		s.park()
	}
}

// prepare checks that all of v is s's to give, and submits what s has issued.
func (c *Chan[T]) prepare(s *Stream, v *T) (device.Point, error) {
	if err := s.check(); err != nil {
		return device.Point{}, err
	}
	if !c.plan.Carries() {
		_, err := s.cuda.Flush(false)
		return device.Point{}, err
	}
	s.handles.Reset()
	c.collect(v, &s.handles)
	if err := buffer.CanGive(s.owner, &s.handles); err != nil {
		return device.Point{}, err
	}
	to := c.to.Load()
	return s.cuda.Flush(to != nil && to != s.cuda && buffer.Ordered(&s.handles))
}

// offer puts v into the channel where there is room, under mu.
func (c *Chan[T]) offer(s *Stream, v *T, p device.Point) (bool, error) {
	if c.closed {
		return false, ErrClosed
	}
	if c.n == len(c.ring) {
		return false, nil
	}
	if c.plan.Carries() {
		if s != nil {
			buffer.Give(s.owner, &s.handles, p)
		} else {
			buffer.Give(nil, &c.scratch, p)
		}
	}
	at := c.head + c.n
	if at >= len(c.ring) {
		at -= len(c.ring)
	}
	c.ring[at] = *v
	c.n++
	return true, nil
}

// afterSend ends w's wait, under mu, and finds who is to be woken.
func (c *Chan[T]) afterSend(w *waiter, sent bool) *waiter {
	if w.q == &c.senders {
		c.senders.remove(w)
	}
	if sent {
		return c.receivers.pop()
	}
	return nil
}

// giveUp ends a wait without having got what it was for.
func (c *Chan[T]) giveUp(q *waitQueue, w *waiter, why error) error {
	c.mu.Lock()
	next := q.leave(w)
	c.mu.Unlock()
	next.wakeFrom(nil)
	return why
}

// Recv takes the next value: what it carries is s's, and what s issues from now on
// comes after the sender's work on it. A buffer of another device arrives Foreign: it
// can be pulled, sent on or released. An empty channel suspends s, until its
// context ends. [ErrClosed] when the channel is closed and empty.
func (c *Chan[T]) Recv(s *Stream) (T, error) {
	var zero T
	if err := s.check(); err != nil {
		return zero, err
	}
	for {
		c.mu.Lock()
		c.expect(s.cuda)
		if c.n > 0 {
			v, next := c.receive(&s.wait, &s.handles)
			c.mu.Unlock()
			next.wakeFrom(s.t)
			if s.handles.Len() == 0 {
				return v, nil
			}
			return v, buffer.Take(s.owner, &s.handles)
		}
		if c.closed {
			c.mu.Unlock()
			return zero, ErrClosed
		}
		c.receivers.add(&s.wait)
		c.mu.Unlock()
		if err := s.cause(); err != nil {
			return zero, c.giveUp(&c.receivers, &s.wait, err)
		}
		if s.cuda.Unsettled() {
			if _, err := s.cuda.Flush(false); err != nil {
				return zero, c.giveUp(&c.receivers, &s.wait, err)
			}
		}
		s.park()
	}
}

// expect notes who receives, under mu.
func (c *Chan[T]) expect(who *device.Stream) {
	if to := c.to.Load(); to != who && to != &severalStreams {
		if to == nil {
			c.to.Store(who)
		} else {
			c.to.Store(&severalStreams)
		}
	}
}

// receive takes the first value out, under mu, lists what it carries, and finds
// who is to be woken.
func (c *Chan[T]) receive(w *waiter, h *buffer.Handles) (T, *waiter) {
	h.Reset()
	c.collectLocked(&c.ring[c.head], h)
	v := c.ring[c.head]
	c.advance()
	if w.q == &c.receivers {
		c.receivers.remove(w)
	}
	return v, c.senders.pop()
}

func (c *Chan[T]) advance() {
	var zero T
	c.ring[c.head] = zero
	if c.head++; c.head == len(c.ring) {
		c.head = 0
	}
	c.n--
}

// All receives until the channel is closed and empty. An error, such as the cause
// of the context's end, comes as the last pair.
func (c *Chan[T]) All(s *Stream) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			v, err := c.Recv(s)
			if errors.Is(err, ErrClosed) {
				return
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// SendCtx is Send for ordinary goroutines: v may carry pinned memory that
// goroutines own, and no device memory.
func (c *Chan[T]) SendCtx(ctx context.Context, v T) error {
	w := waiter{ch: make(chan struct{}, 1)}
	for {
		c.mu.Lock()
		c.scratch.Reset()
		c.collectLocked(&v, &c.scratch)
		if err := buffer.CanGive(nil, &c.scratch); err != nil {
			c.mu.Unlock()
			return c.giveUp(&c.senders, &w, err)
		}
		done, err := c.offer(nil, &v, device.Point{})
		if done || err != nil {
			next := c.afterSend(&w, done)
			c.mu.Unlock()
			next.wakeFrom(nil)
			return err
		}
		c.senders.add(&w)
		c.mu.Unlock()
		if err := w.await(ctx); err != nil {
			return c.giveUp(&c.senders, &w, err)
		}
	}
}

// RecvCtx is Recv for ordinary goroutines. A value that carries device memory stays
// in the channel, and the error is [buffer.ErrNoStream].
func (c *Chan[T]) RecvCtx(ctx context.Context) (T, error) {
	var zero T
	w := waiter{ch: make(chan struct{}, 1)}
	for {
		c.mu.Lock()
		c.expect(&severalStreams)
		if c.n > 0 {
			c.scratch.Reset()
			c.collectLocked(&c.ring[c.head], &c.scratch)
			if err := buffer.TakeHere(&c.scratch); err != nil {
				next := c.receivers.leave(&w)
				c.mu.Unlock()
				next.wakeFrom(nil)
				return zero, err
			}
			v, next := c.receive(&w, &c.scratch)
			c.mu.Unlock()
			next.wakeFrom(nil)
			return v, nil
		}
		if c.closed {
			c.mu.Unlock()
			return zero, ErrClosed
		}
		c.receivers.add(&w)
		c.mu.Unlock()
		if err := w.await(ctx); err != nil {
			return zero, c.giveUp(&c.receivers, &w, err)
		}
	}
}

// collect lists what a value carries. A value whose own method lists it is copied
// to the heap first, since the method may keep its receiver; any other stays where
// it is, so that a send allocates nothing.
func (c *Chan[T]) collect(v *T, h *buffer.Handles) {
	if c.plan.Listed() {
		w := *v
		c.plan.Ask(unsafe.Pointer(&w), h)
		return
	}
	c.plan.Fields(unsafe.Pointer(v), h)
}

// collectLocked is collect under mu, which it gives up where the value's own method
// panics: that is the end of the caller, and not of the channel.
func (c *Chan[T]) collectLocked(v *T, h *buffer.Handles) {
	if c.plan.Listed() {
		returned := false
		defer func() {
			if !returned {
				c.mu.Unlock()
			}
		}()
		c.collect(v, h)
		returned = true
		return
	}
	c.collect(v, h)
}
