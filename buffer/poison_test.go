package buffer

import (
	"errors"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/device"
)

// poisoned is a buffer of u's, holding v, whose last write was refused.
func (r *rig) poisoned(u *user, n int, v uint32) Buf[uint32] {
	r.Helper()
	b, err := New[uint32](u, n)
	r.ok(err)
	r.ok(u.fill(b, v))
	u.sync()
	r.rt.refuses(func(c cudart.Command) bool { return c.Op == cudart.OpFill })
	defer r.rt.refuses(nil)
	err = b.Fill(u, v+1)
	if err == nil {
		_, err = u.o.Stream.Flush(false)
	}
	var refused *device.SubmitError
	if !errors.As(err, &refused) || refused.Op != "fill" || b.State() != Poisoned {
		r.Fatalf("%v, and the buffer is %v", err, b.State())
	}
	return b
}

// TestF2b_PoisonOfBuffers: buffers that commands behind a refused one would have
// written are poisoned: their use says why. Others are not.
func TestF2b_PoisonOfBuffers(t *testing.T) {
	r := newRig(t, 0)
	a, b := r.user(r.devs[0], "A"), r.user(r.devs[0], "B")
	g := r.gate()
	var bufs [5]Buf[uint32]
	for i := range bufs {
		var err error
		bufs[i], err = New[uint32](a, 100)
		r.ok(err)
		r.ok(a.fill(bufs[i], uint32(10+i)))
	}
	before, target, behind, gone, reader := bufs[0], bufs[1], bufs[2], bufs[3], bufs[4]
	a.sync()
	g.hold(a) // busy: all of it is collected
	r.ok(a.fill(before, 1))
	r.ok(target.Fill(a, 2))
	r.ok(a.copy(behind, reader))
	r.ok(a.fill(gone, 4))
	r.ok(gone.Release(a))
	again, err := New[uint32](a, 100) // lives in the slot and the memory of the one that is gone
	r.ok(err)
	if again.x != gone.x {
		t.Fatal("the slot was not used again: the test shows nothing")
	}
	r.rt.refuses(func(c cudart.Command) bool { return c.Op == cudart.OpFill })
	_, refusal := a.o.Stream.Flush(true)
	r.rt.refuses(nil)
	g.open()
	if refusal == nil {
		t.Fatal("nothing was refused")
	}
	for i, want := range []State{Exclusive, Poisoned, Poisoned, Free, Exclusive} {
		if got := bufs[i].State(); got != want {
			t.Errorf("buffer %d is %v, want %v", i, got, want)
		}
	}
	if again.State() != Exclusive {
		t.Errorf("the next life of a buffer is %v", again.State())
	}
	if got := read(a, before); got[0] != 1 {
		t.Errorf("the effect before holds %d", got[0])
	}

	// In, and in part: refused with the cause. In full: fine, and the end of it.
	for name, use := range map[string]func() error{
		"read":           func() error { return a.copy(before, behind) },
		"read and write": func() error { _, _, err := behind.Use(a.o, cudart.InOut); return err },
		"download":       func() error { _, _, err := behind.Use(a.o, cudart.In); return err },
	} {
		var p *PoisonError
		var submit *device.SubmitError
		if err := use(); !errors.As(err, &p) || !errors.As(err, &submit) || submit.Op != "fill" || !errors.Is(err, cudart.ErrInvalidValue) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err = behind.Use(b.o, cudart.Out)
	r.ownership(err, "B", `"A" owns it (poisoned)`)
	r.ok(a.fill(behind, 9))
	if got := read(a, behind); behind.State() != Exclusive || got[99] != 9 {
		t.Errorf("overwritten: %v, holds %d", behind.State(), got[99])
	}
	r.ok(target.Release(a)) // releasing is always possible
}

// Poison ends when the overwriting command is issued: one that is not, for whatever
// reason, ends nothing; one that is refused poisons again.
func TestPoisonStaysUntilItIsOverwritten(t *testing.T) {
	r := newRig(t, 0)
	u := r.user(r.devs[0], "u")
	b := r.poisoned(u, 100, 1)
	for name, do := range map[string]func() error{
		"asking only": func() error { _, _, err := b.Use(u.o, cudart.Out); return errors.Join(err, errRefused) },
		"another bad launch": func() error {
			return u.o.Stream.Launch(u.o.ID, fill32, device.Linear(1), b.Out(), device.F32(1), device.U32(1))
		},
		"a grid too large": func() error {
			return u.o.Stream.Launch(u.o.ID, fill32, device.Blocks(-1, 1), b.Out(), device.U32(1), device.U32(1))
		},
		"with itself as input": func() error { return u.copy(b, b) },
		"raw, with another that is not ours": func() error {
			return u.o.Stream.Uses(u.o.ID, b.Out(), Buf[uint32]{}.In())
		},
	} {
		if err := do(); err == nil {
			t.Errorf("%s: no error", name)
		}
		if b.State() != Poisoned {
			t.Fatalf("%s: the buffer is %v", name, b.State())
		}
	}
	r.rt.refuses(func(c cudart.Command) bool { return c.Op == cudart.OpLaunch })
	err := u.fill(b, 3)
	if err == nil {
		_, err = u.o.Stream.Flush(false)
	}
	r.rt.refuses(nil)
	if err == nil || b.State() != Poisoned {
		t.Errorf("refused again: %v, %v", err, b.State())
	}
	r.ok(u.o.Stream.Uses(u.o.ID, b.Out())) // in full, by commands that we do not see
	if b.State() != Exclusive {
		t.Errorf("overwritten by another library: %v", b.State())
	}
}

// Poison goes along with the buffer, to the same device and to another one; there
// it cannot be pulled.
func TestPoisonIsHandedOver(t *testing.T) {
	r := newRig(t, 0)
	a, b, far := r.user(r.devs[0], "A"), r.user(r.devs[0], "B"), r.user(r.devs[1], "far")
	x := r.poisoned(a, 100, 1)
	r.ok(a.give(x.Handle))
	x.x.Poison(x.gen, errRefused) // in flight: nobody's to change
	r.ok(far.take(x.Handle))
	var p *PoisonError
	if _, err := x.Pulling(far.o); !errors.As(err, &p) {
		t.Errorf("pulling it: %v", err)
	}
	r.ok(far.give(x.Handle))
	r.ok(b.take(x.Handle))
	if err := b.copy(x, x); !errors.As(err, &p) || x.State() != Poisoned {
		t.Errorf("%v, %v", err, x.State())
	}
	if _, err := x.Pulling(b.o); !errors.As(err, &p) {
		t.Errorf("pulling it at home: %v", err)
	}
	r.ok(b.fill(x, 2))
	if got := read(b, x); got[0] != 2 {
		t.Errorf("holds %d", got[0])
	}
}

// Who takes a poisoned buffer and overwrites it waits for those who still read it.
func TestAPoisonedBuffersReceiverWaits(t *testing.T) {
	r := newRig(t, 0)
	a, b := r.user(r.devs[0], "A"), r.user(r.devs[0], "B")
	g := r.gate()
	x := r.poisoned(a, 100, 1)
	out, err := New[uint32](a, 100)
	r.ok(err)
	r.ok(a.fill(x, 5))
	a.sync()
	g.hold(a)
	r.ok(a.copy(out, x)) // reads 5, when the gate opens
	_, err = a.o.Stream.Flush(false)
	r.ok(err)
	x.x.Poison(x.gen, errRefused)
	r.ok(a.give(x.Handle))
	r.ok(b.take(x.Handle))
	r.ok(b.fill(x, 6))
	end, err := b.o.Stream.Flush(true)
	r.ok(err)
	if done, err := end.Done(r.cur); done || err != nil {
		t.Fatalf("B did not wait (%v)", err)
	}
	g.open()
	b.sync()
	if got := read(a, out); got[0] != 5 || got[99] != 5 {
		t.Errorf("A read %d", got[0])
	}
}
