package transfer

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart/sim"
	"github.com/gpuactor/gpuactor/device"
)

// A producer on one device and a consumer on another, a hundred buffers long: each
// arrives as it was, and all memory comes back.
func TestPipeline(t *testing.T) {
	r := newRig(t, sim.Config{})
	items := actor.NewChan[Buf](8)
	g := r.sys.Group(r.ctx)
	const n, count = 1000, 100
	g.Go("producer", r.sys.Device(0), func(s *actor.Stream) error {
		defer items.Close()
		for i := range count {
			b, err := buffer.New[uint32](s, n)
			if err != nil {
				return err
			}
			if err := fill(s, b, uint32(i)); err != nil {
				return err
			}
			if err := items.Send(s, b); err != nil {
				return err
			}
		}
		return nil
	})
	received := uint32(0)
	g.Go("consumer", r.sys.Device(1), func(s *actor.Stream) error {
		for far, err := range items.All(s) {
			if err != nil {
				return err
			}
			b, err := Pull(s, far)
			if err != nil {
				return err
			}
			got, err := ToSlice(s, b)
			if err != nil {
				return err
			}
			for _, v := range got {
				if v != received {
					return fmt.Errorf("item %d holds %d", received, v)
				}
			}
			received++
			if err := b.Release(s); err != nil {
				return err
			}
		}
		return nil
	})
	r.ok(g.Wait())
	if received != count {
		t.Errorf("%d items arrived", received)
	}
	for _, c := range Counts(r.sys) {
		if want := map[Route]uint64{RoutePeer: count, RouteDownload: count}[c.Route]; c.Count != want || c.Bytes != 4*n*want {
			t.Errorf("%+v, want %d", c, want)
		}
	}
}

// What is here already comes back as it is, without any copy.
func TestPullOfWhatIsHere(t *testing.T) {
	r := newRig(t, sim.Config{})
	a := r.hand(0, "a")
	b := a.filled(1)
	a.do(func(s *actor.Stream) error {
		got, err := Pull(s, b)
		if got != b {
			t.Error("another buffer")
		}
		return err
	})
	r.copied()
}

// What may not be pulled: the buffer stays as it was.
func TestWhatCannotBePulled(t *testing.T) {
	r := newRig(t, sim.Config{})
	a, b, other := r.hand(0, "a"), r.hand(1, "b"), r.hand(1, "other")
	far := a.filled(7)
	a.sync()
	a.send(b, far)
	ownership := func(err error) {
		t.Helper()
		var e *buffer.OwnershipError
		if !errors.As(err, &e) {
			t.Errorf("%v", err)
		}
	}
	ownership(other.try(func(s *actor.Stream) error { _, err := Pull(s, far); return err }))
	ownership(a.try(func(s *actor.Stream) error { _, err := Pull(s, far); return err }))
	ownership(b.try(func(s *actor.Stream) error { _, err := Pull(s, Buf{}); return err }))
}

// TestVia: the copy is issued on the stream of a named actor, behind what that was
// given, and on no other.
func TestVia(t *testing.T) {
	r := newRig(t, sim.Config{})
	a, b, mover := r.hand(0, "a"), r.hand(1, "b"), r.hand(0, "mover")
	far := a.filled(7)
	a.send(b, far)
	got := b.pull(far, Via(mover.ref))
	r.copied("mover")
	r.ok(b.holds(got, 7))

	mine := a.filled(8) // via the one who wrote it: its stream is in order already
	a.send(b, mine)
	r.edges.reset()
	got = b.pull(mine, Via(a.ref))
	r.copied("a")
	r.ok(b.holds(got, 8))
}

// An actor that is busy with code of its own serves a pull when it yields.
func TestViaABusyActor(t *testing.T) {
	r := newRig(t, sim.Config{})
	a, b, mover := r.hand(0, "a"), r.hand(1, "b"), r.hand(0, "mover")
	far := a.filled(7)
	a.send(b, far)
	busy, goOn := make(chan struct{}), make(chan struct{})
	moved := mover.start(func(*actor.Stream) error {
		close(busy)
		<-goOn // a plain receive: the thread is blocked, the actor runs
		return nil
	})
	<-busy
	var got Buf
	var yielded atomic.Bool
	pulled := b.start(func(s *actor.Stream) (err error) {
		got, err = Pull(s, far, Via(mover.ref))
		if !yielded.Load() {
			t.Error("pulled on the stream of an actor that is running")
		}
		return err
	})
	a.sync() // others go on
	yielded.Store(true)
	close(goOn)
	r.ok(<-moved)
	r.ok(<-pulled)
	r.copied("mover")
	r.ok(b.holds(got, 7))
}

// An actor that ends with a pull waiting for it refuses it; so does one that has
// ended. The buffer stays the caller's.
func TestViaAStoppedActor(t *testing.T) {
	r := newRig(t, sim.Config{})
	a, b, mover := r.hand(0, "a"), r.hand(1, "b"), r.hand(0, "mover")
	far := a.filled(7)
	a.send(b, far)
	mover.stop()
	err := b.try(func(s *actor.Stream) error {
		_, err := Pull(s, far, Via(mover.ref))
		return err
	})
	if !errors.Is(err, actor.ErrStopped) || far.State() != buffer.Foreign {
		t.Errorf("%v, and the buffer is %v", err, far.State())
	}

	ending := r.hand(0, "ending")
	busy, goOn := make(chan struct{}), make(chan struct{})
	ending.start(func(s *actor.Stream) error {
		close(busy)
		<-goOn
		return nil
	})
	<-busy
	pulled := b.start(func(s *actor.Stream) error {
		got, err := Pull(s, far, Via(ending.ref))
		if err == nil { // served before it ended
			far = got
		}
		return err
	})
	ending.ref.Stop()
	close(goOn)
	r.ok(ending.ref.Wait(r.ctx))
	if err := <-pulled; err != nil && (!errors.Is(err, actor.ErrStopped) || far.State() != buffer.Foreign) {
		t.Errorf("%v, and the buffer is %v", err, far.State())
	}
	r.ok(b.holds(b.pull(far), 7))
}

func TestViaAnActorOfTheWrongDevice(t *testing.T) {
	r := newRig(t, sim.Config{})
	a, b := r.hand(0, "a"), r.hand(1, "b")
	far := a.filled(7)
	a.send(b, far)
	err := b.try(func(s *actor.Stream) error {
		_, err := Pull(s, far, Via(b.ref))
		return err
	})
	if err == nil || far.State() != buffer.Foreign {
		t.Errorf("%v, and the buffer is %v", err, far.State())
	}
	r.copied()
	r.ok(b.holds(b.pull(far), 7))
}

// A pair of devices without a peer path is said to have none, in that direction; the
// buffer stays the caller's.
func TestNoPeerPath(t *testing.T) {
	r := newRig(t, sim.Config{NoPeer: func(device, peer int) bool { return device == 0 && peer == 1 }})
	a, b := r.hand(0, "a"), r.hand(1, "b")
	far, near := a.filled(7), b.filled(8)
	a.send(b, far)
	b.send(a, near)
	err := b.try(func(s *actor.Stream) error { _, err := Pull(s, far); return err })
	if !errors.Is(err, ErrNoRoute) || far.State() != buffer.Foreign {
		t.Errorf("%v, and the buffer is %v", err, far.State())
	}
	b.release(far)
	r.ok(a.holds(a.pull(near), 8))
}

// A buffer whose last write failed cannot be pulled, and says why; it can be released.
func TestPullOfAPoisonedBuffer(t *testing.T) {
	r := newRig(t, sim.Config{})
	a, b := r.hand(0, "a"), r.hand(1, "b")
	far := a.filled(7)
	a.sync()
	r.edges.refuseAll(true)
	err := a.try(func(s *actor.Stream) error { return errors.Join(fill(s, far, 8), s.Submit()) })
	r.edges.refuseAll(false)
	if err == nil || far.State() != buffer.Poisoned {
		t.Fatalf("%v, and the buffer is %v", err, far.State())
	}
	a.send(b, far)
	err = b.try(func(s *actor.Stream) error { _, err := Pull(s, far); return err })
	var poison *buffer.PoisonError
	var refused *device.SubmitError
	if !errors.As(err, &poison) || !errors.As(err, &refused) || refused.Op != "fill32" || far.State() != buffer.Foreign {
		t.Errorf("%v, and the buffer is %v", err, far.State())
	}
	b.release(far)
}

// A copy that is refused leaves everything as it was.
func TestARefusedPull(t *testing.T) {
	r := newRig(t, sim.Config{})
	a, b := r.hand(0, "a"), r.hand(1, "b")
	far := a.filled(7)
	a.send(b, far)
	live := buffer.Live()
	r.edges.refuseAll(true)
	err := b.try(func(s *actor.Stream) error { _, err := Pull(s, far); return err })
	r.edges.refuseAll(false)
	var refused *device.SubmitError
	if !errors.As(err, &refused) || refused.Op != "peer copy" || far.State() != buffer.Foreign || buffer.Live() != live {
		t.Errorf("%v, the buffer is %v, %d live, there were %d", err, far.State(), buffer.Live(), live)
	}
	r.ok(b.holds(b.pull(far), 7))
}
