package actor

import (
	"context"
	"errors"
	"testing"

	"github.com/gpuactor/gpuactor/buffer"
)

// Whatever form the buffers of a value have, they change hands with it.
func TestChanHandsOverWhatAValueCarries(t *testing.T) {
	sys := newSystem(t)
	fields, arrays, lists := NewChan[inFields](1), NewChan[[3]Buf](1), NewChan[listed](1)
	back := NewChan[int](1)
	three := func(s *Stream, from uint32) (bs [3]Buf, err error) {
		for i := range bs {
			if bs[i], err = filled(s, from+uint32(i)); err != nil {
				return bs, err
			}
		}
		return bs, nil
	}
	from := start(t, sys, "from", sys.Device(0), func(s *Stream) error {
		bs, err := three(s, 1)
		if err != nil {
			return err
		}
		if err := arrays.Send(s, bs); err != nil {
			return err
		}
		if bs, err = three(s, 4); err != nil {
			return err
		}
		if err := lists.Send(s, listed{bs[:]}); err != nil {
			return err
		}
		h, err := buffer.NewHost[uint32](s, words)
		if err != nil {
			return err
		}
		b, err := filled(s, 7)
		if err != nil {
			return err
		}
		v := inFields{A: b, N: 3}
		v.Rest[1].B = h // the other one is no buffer
		if err := errors.Join(fetch(s, h, b), fields.Send(s, v)); err != nil {
			return err
		}
		for _, stale := range append(bs[:], b) {
			var own *buffer.OwnershipError
			if err := fill(s, stale, 0); !errors.As(err, &own) {
				t.Errorf("a buffer that was sent can be used: %v", err)
			}
		}
		_, err = back.Recv(s)
		return err
	})
	to := start(t, sys, "to", sys.Device(0), func(s *Stream) error {
		a, err := arrays.Recv(s)
		for i, b := range a {
			err = errors.Join(err, holds(s, b, 1+uint32(i)))
		}
		l, e := lists.Recv(s)
		err = errors.Join(err, e)
		for i, b := range l.Bs {
			err = errors.Join(err, holds(s, b, 4+uint32(i)))
		}
		f, e := fields.Recv(s)
		if err = errors.Join(err, e); err != nil {
			return err
		}
		got, err := f.Rest[1].B.Slice(s)
		if err != nil {
			return err
		}
		if got[0] != 7 || f.N != 3 || f.Rest[0].B.Valid() {
			t.Errorf("received %v and %+v", got[0], f)
		}
		return errors.Join(f.Rest[1].B.Release(s), holds(s, f.A, 7), back.Send(s, 0))
	})
	finish(t, from, to)
}

// What is not the sender's to give is not sent.
func TestChanSendsOnlyWhatIsTheSenders(t *testing.T) {
	sys := newSystem(t)
	finish(t, start(t, sys, "sender", sys.Device(0), func(s *Stream) error {
		items, pairs := NewChan[Buf](3), NewChan[[2]Buf](3)
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		var own *buffer.OwnershipError
		if err := pairs.Send(s, [2]Buf{b, b}); err == nil {
			t.Error("one buffer was handed over twice in one value")
		}
		if err := items.Send(s, b); err != nil {
			return err
		}
		if err := items.Send(s, b); !errors.As(err, &own) {
			t.Errorf("a buffer that has been sent: %v", err)
		}
		gone, err := filled(s, 1)
		if err := errors.Join(err, gone.Release(s)); err != nil {
			return err
		}
		if err := items.Send(s, gone); !errors.As(err, &own) {
			t.Errorf("a buffer that has been released: %v", err)
		}
		kept, err := filled(s, 1)
		if err != nil {
			return err
		}
		if err := pairs.Send(s, [2]Buf{kept, gone}); !errors.As(err, &own) {
			t.Errorf("a value of which one buffer has been released: %v", err)
		}
		if err := kept.Release(s); err != nil {
			t.Errorf("the other buffer of it went away: %v", err)
		}
		if items.Len() != 1 || pairs.Len() != 0 {
			t.Errorf("%d and %d values were sent, want 1 and 0", items.Len(), pairs.Len())
		}
		items.Close()
		last, err := filled(s, 1)
		if err != nil {
			return err
		}
		if err := items.Send(s, last); !errors.Is(err, ErrClosed) {
			t.Errorf("a closed channel: %v", err)
		}
		if n := items.Discard(); n != 1 {
			t.Errorf("%d discarded, want 1", n)
		}
		return holds(s, last, 1)
	}))
}

// Ordinary goroutines pass pinned memory and plain values, both ways.
func TestChanAndOrdinaryGoroutines(t *testing.T) {
	sys := newSystem(t)
	in, out, far := NewChan[Host](1), NewChan[Host](1), NewChan[Buf](1)
	ref := start(t, sys, "worker", sys.Device(0), func(s *Stream) error {
		for h, err := range in.All(s) {
			if err != nil {
				return err
			}
			b, err := filled(s, 11)
			if err != nil {
				return err
			}
			if err := errors.Join(fetch(s, h, b), out.Send(s, h), far.Send(s, b)); err != nil {
				return err
			}
		}
		return nil
	})
	h, err := buffer.HostOn[uint32](sys.Device(0), words)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.SendCtx(soon(t), h); err != nil {
		t.Fatal(err)
	}
	var own *buffer.OwnershipError
	if err := in.SendCtx(soon(t), h); !errors.As(err, &own) {
		t.Errorf("sent twice: %v", err)
	}
	if h, err = out.RecvCtx(soon(t)); err != nil {
		t.Fatal(err)
	}
	got, err := h.SliceCtx(soon(t))
	if err != nil || got[0] != 11 || got[words-1] != 11 {
		t.Errorf("received %v, %v", got, err)
	}
	if err := h.ReleaseHere(); err != nil {
		t.Error(err)
	}
	// Device memory stays where it is.
	if _, err := far.RecvCtx(soon(t)); !errors.Is(err, buffer.ErrNoStream) {
		t.Errorf("device memory without a stream: %v", err)
	}
	if n := far.Len(); n != 1 {
		t.Errorf("%d values are left, want 1", n)
	}
	in.Close()
	finish(t, ref)
	if n := far.Discard(); n != 1 {
		t.Errorf("%d discarded, want 1", n)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("no longer")
	cancel(why)
	if _, err := NewChan[int](1).RecvCtx(ctx); !errors.Is(err, why) {
		t.Errorf("an ended context: %v", err)
	}
}

// The mistake of a value's own method is the end of its caller, not of the channel.
func TestChanSurvivesAPanicInCarry(t *testing.T) {
	sys := newSystem(t)
	items := NewChan[moody](2)
	var mood bool // of values that have been received
	func() {
		defer func() {
			if recover() == nil {
				t.Error("SendCtx swallowed the panic")
			}
		}()
		_ = items.SendCtx(soon(t), moody{})
	}()
	if err := items.SendCtx(soon(t), moody{&mood}); err != nil {
		t.Fatal(err)
	}
	mood = true
	ref := start(t, sys, "receiver", sys.Device(0), func(s *Stream) error { _, err := items.Recv(s); return err })
	var p *PanicError
	if err := ref.Wait(soon(t)); !errors.As(err, &p) {
		t.Errorf("Recv: %v, want a panic", err)
	}
	var v moody
	ref = start(t, sys, "selector", sys.Device(0), func(s *Stream) error {
		_, err := NewSelector(Receiving(items, &v)).Wait(s)
		return err
	})
	if err := ref.Wait(soon(t)); !errors.As(err, &p) {
		t.Errorf("Selector: %v, want a panic", err)
	}
	mood = false
	if _, err := items.RecvCtx(soon(t)); err != nil || items.Len() != 0 {
		t.Errorf("afterwards: %v", err)
	}
}

// moody is a carrier that panics where it should list its buffers: without a mood
// always, otherwise in a bad one.
type moody struct{ bad *bool }

func (m moody) Carry(*buffer.Handles) {
	if m.bad == nil || *m.bad {
		panic("bad mood")
	}
}
