package actor

import (
	"context"
	"slices"
	"testing"

	"github.com/gpuactor/gpuactor/buffer"
)

// receiver starts an actor on th that receives one value, for got, and returns when it
// waits for it.
func receiver[T any](t *testing.T, sys *System, th *Thread, c *Chan[T], got func(*Stream, T) error) *Ref {
	t.Helper()
	ref := start(t, sys, "receiver", On(th), func(s *Stream) error {
		v, err := c.Recv(s)
		if err != nil {
			return err
		}
		return got(s, v)
	})
	until(t, "a receiver waits", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return ref.s.wait.q == &c.receivers
	})
	return ref
}

// What has been put down for a receiver is delivered, also where its context has ended
// before it goes on.
func TestWhatWasPutDownIsReceived(t *testing.T) {
	sys := newSystem(t)
	th := sharedThread(t, sys)
	c := NewChan[Buf](1)
	var got Buf
	to := receiver(t, sys, th, c, func(s *Stream, b Buf) error {
		got = b
		if s.Context().Err() == nil {
			t.Error("the context has not ended: the test tries nothing")
		}
		return b.Release(s)
	})
	from := start(t, sys, "sender", On(th), func(s *Stream) error {
		b, err := buffer.New[uint32](s, 4)
		if err != nil {
			return err
		}
		if err := c.Send(s, b); err != nil {
			return err
		}
		if n := c.Len(); n != 0 {
			t.Errorf("%d values in the channel: nothing was put down", n)
		}
		to.Stop()
		if b.State() != buffer.InFlight {
			t.Errorf("sent: %v", b.State())
		}
		return nil
	})
	finish(t, from, to)
	if got == (Buf{}) {
		t.Error("nothing was received")
	}
}

// Values keep their order, whichever way each of them goes, and none takes the place of
// another.
func TestWhatWasPutDownIsInOrder(t *testing.T) {
	sys := newSystem(t)
	th := sharedThread(t, sys)
	c := NewChan[int](4)
	var order []int
	note := func(_ *Stream, v int) error { order = append(order, v); return nil }
	var refs []*Ref
	for range 6 {
		refs = append(refs, receiver(t, sys, th, c, note))
	}
	finish(t, start(t, sys, "sender", On(th), func(s *Stream) error {
		for v := range 4 { // the first is put down
			if err := c.Send(s, v); err != nil {
				return err
			}
		}
		return nil
	}))
	finish(t, refs[:4]...)
	finish(t, start(t, sys, "sender", On(th), func(s *Stream) error {
		// One from elsewhere is in the channel, and who was woken for it comes later.
		if err := c.SendCtx(context.Background(), 4); err != nil {
			return err
		}
		return c.Send(s, 5)
	}))
	finish(t, refs...)
	if !slices.Equal(order, []int{0, 1, 2, 3, 4, 5}) {
		t.Errorf("received in the order %v", order)
	}
}

// Something is put down only for who finds it, and where nobody else looks.
func TestWhereSomethingMayBePutDown(t *testing.T) {
	here, there := &Thread{}, &Thread{}
	on := func(t *Thread) *Stream {
		s := &Stream{t: t}
		s.wait.s = s
		return s
	}
	from, to := on(here), on(here)
	for _, c := range []struct {
		what string
		p    place[int]
		w    *waiter
		want bool
	}{
		{"who waits in Recv", place[int]{t: here}, &to.wait, true},
		{"nobody", place[int]{t: here}, nil, false},
		{"an ordinary goroutine", place[int]{t: here}, &waiter{ch: make(chan struct{}, 1)}, false},
		{"a selector", place[int]{t: here}, &waiter{s: to}, false},
		{"who waits on another thread", place[int]{t: here}, &on(there).wait, false},
		{"a place of another thread", place[int]{t: there}, &to.wait, false},
		{"a place that is taken", place[int]{t: here, full: true}, &to.wait, false},
	} {
		if got := c.p.fits(from, c.w); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

// A value without buffers takes none that its receiver has handled before.
func TestWhatWasPutDownCarriesNothing(t *testing.T) {
	sys := newSystem(t)
	th := sharedThread(t, sys)
	bufs, c := NewChan[Buf](1), NewChan[int](1)
	to := start(t, sys, "receiver", On(th), func(s *Stream) error {
		b, err := buffer.New[uint32](s, 4)
		if err != nil {
			return err
		}
		if err := bufs.Send(s, b); err != nil {
			return err
		}
		if _, err := c.Recv(s); err != nil {
			return err
		}
		if b.State() != buffer.InFlight {
			t.Errorf("a buffer in another channel is %v", b.State())
		}
		return nil
	})
	until(t, "it waits", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return to.s.wait.q == &c.receivers
	})
	finish(t, start(t, sys, "sender", On(th), func(s *Stream) error { return c.Send(s, 1) }), to)
	if n := bufs.Discard(); n != 1 {
		t.Errorf("%d buffers in the channel, want 1", n)
	}
}
