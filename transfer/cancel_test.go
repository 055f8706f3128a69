package transfer

import (
	"context"
	"errors"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// TestP10_CancelledWhileItWaits: a pull that waits for device memory ends with its
// actor's context; the buffer is the actor's all the same, and nothing was copied.
func TestP10_CancelledWhileItWaits(t *testing.T) {
	r := newRig(t, sim.Config{}, actor.WithBudget(4*words))
	src, holder := r.hand(0, "source"), r.hand(1, "holder")
	taken := holder.filled(0)
	b := src.filled(7)
	ch := actor.NewChan[Buf](1)
	src.do(func(s *actor.Stream) error { return ch.Send(s, b) })
	ctx, cancel := context.WithCancelCause(r.ctx)
	gaveUp := errors.New("gave up")
	pulling := make(chan struct{})
	state := buffer.Free
	ref, err := r.sys.Go("destination", r.sys.Device(1), func(s *actor.Stream) error {
		far, err := ch.Recv(s)
		if err != nil {
			return err
		}
		close(pulling)
		_, err = Pull(s, far)
		state = far.State()
		return err
	}, actor.WithContext(ctx))
	r.ok(err)
	<-pulling
	holder.sync()
	cancel(gaveUp)
	if err := ref.Wait(r.ctx); !errors.Is(err, gaveUp) {
		t.Errorf("the pull ended with %v", err)
	}
	if state != buffer.Foreign || b.Valid() {
		t.Errorf("the buffer was %v, and is valid: %v", state, b.Valid())
	}
	r.copied()
	holder.release(taken)
	if m := r.sys.Device(1).Memory(); m.Reserved != 4*words {
		t.Errorf("%+v", m)
	}
}

// TestP10_GoneWithItsCopyInFlight: the actor that asked for a copy ends before it has
// run. Neither memory is used again before that.
func TestP10_GoneWithItsCopyInFlight(t *testing.T) {
	for _, how := range []string{"stopped", "panicked", "returned"} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t, sim.Config{})
			src, mover, next := r.hand(0, "source"), r.hand(0, "mover"), r.hand(1, "next")
			b := src.filled(7)
			from := b.Block()
			src.sync()
			g := r.gate()
			g.hold(mover)
			ch := actor.NewChan[Buf](1)
			src.do(func(s *actor.Stream) error { return ch.Send(s, b) })
			var got Buf
			pulled := make(chan error, 1)
			ref, err := r.sys.Go("gone", r.sys.Device(1), func(s *actor.Stream) error {
				far, err := ch.Recv(s)
				if err == nil {
					got, err = Pull(s, far, Via(mover.ref))
				}
				to := got.Block()
				pulled <- err
				switch {
				case to == nil:
					return errors.New("no block")
				case how == "stopped":
					s.Rest()
				case how == "panicked":
					panic("for the test")
				}
				return nil
			})
			r.ok(err)
			r.ok(<-pulled)
			if how == "stopped" {
				ref.Stop()
			}
			<-ref.Done()
			if got.Valid() || b.Valid() {
				t.Error("buffers are left behind")
			}
			for range 3 { // more than one, in case the first is not the one that comes next
				if x := src.filled(9); x.Block() == from {
					t.Error("the source's memory was taken with the copy still to come")
				}
			}
			stale := next.filled(5)
			g.open()
			mover.sync()
			r.ok(next.holds(stale, 5))
		})
	}
}
