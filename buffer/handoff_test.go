package buffer

import (
	"errors"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/device"
)

// A hand-off puts the receiver's stream behind the giver's: with one wait, and none
// where a watermark covers it or the stream is the same.
func TestTakeWaitsForTheGiver(t *testing.T) {
	r := newRig(t, 0)
	a, b := r.user(r.devs[0], "A"), r.user(r.devs[0], "B")
	g := r.gate()
	x, err := New[uint32](a, 1000)
	r.ok(err)
	y, err := New[uint32](a, 1000)
	r.ok(err)
	out, err := New[uint32](b, 1000)
	r.ok(err)
	a.sync()
	b.sync()
	g.hold(a)
	r.ok(a.fill(x, 7))
	r.ok(a.fill(y, 8))
	r.rt.waits = 0
	r.ok(a.give(x.Handle, y.Handle))
	r.ok(b.take(x.Handle, y.Handle))
	r.ok(b.copy(out, x))
	end, err := b.o.Stream.Flush(true)
	r.ok(err)
	if r.rt.waits != 1 {
		t.Errorf("%d waits for two buffers of one submission", r.rt.waits)
	}
	if done, err := end.Done(r.cur); done || err != nil {
		t.Fatalf("B did not wait (%v)", err)
	}
	g.open()
	if got := read(b, out); got[0] != 7 || got[999] != 7 {
		t.Errorf("B read %d", got[0])
	}
	r.rt.waits = 0
	r.ok(b.give(x.Handle))
	r.ok(b.take(x.Handle)) // back to oneself
	a.sync()
	r.ok(b.give(y.Handle))
	b.sync()
	r.ok(a.take(y.Handle)) // known complete
	a.sync()
	if r.rt.waits != 0 {
		t.Errorf("%d waits that were not needed", r.rt.waits)
	}
}

func TestWhatCannotBeGiven(t *testing.T) {
	r := newRig(t, 0)
	a, b := r.user(r.devs[0], "A"), r.user(r.devs[0], "B")
	mine, err := New[uint32](a, 1)
	r.ok(err)
	theirs, err := New[uint32](b, 1)
	r.ok(err)
	r.ownership(a.give(mine.Handle, theirs.Handle), "A", `"B" owns it`)
	if err := a.give(mine.Handle, mine.Handle); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("one buffer twice: %v", err)
	}
	r.ownership(CanGive(nil, handles(mine.Handle)), "an ordinary goroutine", `"A" owns it`)
	if mine.State() != Exclusive || theirs.State() != Exclusive {
		t.Error("a refused hand-off changed something")
	}
	defer func() {
		if recover() == nil {
			t.Error("what CanGive has not passed was given")
		}
	}()
	r.ok(mine.Release(a))
	Give(a.o, handles(mine.Handle), a.o.Stream.Given())
}

// What was not delivered comes back as it was: usable, foreign or poisoned.
func TestReturn(t *testing.T) {
	r := newRig(t, 0)
	a, far := r.user(r.devs[0], "A"), r.user(r.devs[1], "far")
	pinned, err := HostOn[uint32](r.devs[0], 1)
	r.ok(err)
	bad, err := New[uint32](a, 4)
	r.ok(err)
	foreign, err := New[uint32](a, 4)
	r.ok(err)
	fine, err := New[uint32](a, 4)
	r.ok(err)
	r.ok(a.give(foreign.Handle))
	r.ok(far.take(foreign.Handle))
	bad.x.Poison(bad.gen, errRefused)

	back := func(state State, owned bool, giver *Owner, h Handle) {
		t.Helper()
		hs := handles(h)
		r.ok(CanGive(giver, hs))
		Give(giver, hs, pinned.x.point)
		if h.State() != InFlight || OwnerOf(hs) != 0 {
			t.Error("not in flight")
		}
		Return(hs)
		Return(hs) // nothing is in flight any more
		if h.State() != state || OwnerOf(hs) != idOf(giver) {
			t.Errorf("came back %v to %s, want %v", h.State(), ownerName(OwnerOf(hs)), state)
		}
	}
	back(Exclusive, true, a.o, fine.Handle)
	back(Poisoned, true, a.o, bad.Handle)
	back(Foreign, false, far.o, foreign.Handle)
	back(Exclusive, true, nil, pinned.Handle)
	pinned.x.Poison(pinned.gen, errRefused)
	back(Poisoned, true, nil, pinned.Handle)
	r.ownership(far.fill(foreign, 1), "far", "pull it here first")
	if err := bad.Fill(a, 1); err != nil || bad.State() != Exclusive {
		t.Errorf("overwriting what came back poisoned: %v", err)
	}
	r.ok(pinned.ReleaseHere())

	// Of one who has ended it stays in flight, to be dropped.
	r.ok(far.give(foreign.Handle))
	far.end()
	hs := handles(foreign.Handle)
	Return(hs)
	if foreign.State() != InFlight {
		t.Errorf("came back %v to one who has ended", foreign.State())
	}
	if n := Drop(hs); n != 1 || foreign.Valid() {
		t.Errorf("%d dropped", n)
	}
	if n := Drop(hs); n != 0 {
		t.Errorf("%d dropped again", n)
	}
}

// What is dropped is free when the giver's work on it is done, and not before.
func TestDropWaitsForTheGiver(t *testing.T) {
	r := newRig(t, 0)
	a, b := r.user(r.devs[0], "A"), r.user(r.devs[0], "B")
	g := r.gate()
	const n = 1 << 18 // large: the pool looks for free ones at once
	x, err := New[uint32](a, n)
	r.ok(err)
	block := x.Block()
	a.sync()
	g.hold(a)
	r.ok(a.fill(x, 1))
	r.ok(a.give(x.Handle))
	if got := Drop(handles(x.Handle)); got != 1 {
		t.Fatalf("%d dropped", got)
	}
	early, err := New[uint32](b, n)
	r.ok(err)
	if early.Block() == block {
		t.Fatal("the memory is still being written")
	}
	g.open()
	a.sync()
	late, err := New[uint32](b, n)
	r.ok(err)
	if late.Block() != block {
		t.Error("the memory is free and was not found")
	}
}

// Ordinary goroutines take pinned memory only.
func TestTakeHere(t *testing.T) {
	r := newRig(t, 0)
	a := r.user(r.devs[0], "A")
	h, err := NewHost[uint32](a, 4)
	r.ok(err)
	b, err := New[uint32](a, 4)
	r.ok(err)
	r.ok(a.give(h.Handle))
	r.ok(a.give(b.Handle))
	if err := TakeHere(handles(h.Handle, b.Handle)); !errors.Is(err, ErrNoStream) {
		t.Errorf("with device memory behind it: %v", err)
	}
	r.ok(TakeHere(handles(h.Handle))) // nothing was taken with it
	if err := TakeHere(handles(b.Handle)); !errors.Is(err, ErrNoStream) {
		t.Errorf("device memory: %v", err)
	}
	r.ownership(TakeHere(handles(h.Handle)), "an ordinary goroutine", "owns it")
	r.ok(h.ReleaseHere())
	r.ownership(h.ReleaseHere(), "an ordinary goroutine", "released")
	Return(handles(b.Handle))
}

// Whether an event may be needed: for device memory that the giver's stream has
// touched, and for pinned memory with a copy.
func TestOrdered(t *testing.T) {
	r := newRig(t, 0)
	a, far := r.user(r.devs[0], "A"), r.user(r.devs[1], "far")
	b, err := New[uint32](a, 4)
	r.ok(err)
	h, err := NewHost[uint32](a, 4)
	r.ok(err)
	if Ordered(handles()) || Ordered(handles(h.Handle)) || !Ordered(handles(h.Handle, b.Handle)) {
		t.Error("fresh ones")
	}
	r.ok(download(a, h, b))
	if !Ordered(handles(h.Handle)) {
		t.Error("pinned memory with a copy on its way")
	}
	r.ok(a.give(b.Handle))
	r.ok(far.take(b.Handle))
	if Ordered(handles(b.Handle)) {
		t.Error("a foreign buffer, which the owner's stream has not touched")
	}
}

// However a flight ends, the event that was held for it is let go: the rig says what
// is left.
func TestTheEventGoesWithTheFlight(t *testing.T) {
	for name, end := range map[string]func(r *rig, from, to, far *user, b Buf[uint32]){
		"taken":                   func(r *rig, from, to, far *user, b Buf[uint32]) { r.ok(to.take(b.Handle)) },
		"taken by its own stream": func(r *rig, from, to, far *user, b Buf[uint32]) { r.ok(from.take(b.Handle)) },
		"taken elsewhere":         func(r *rig, from, to, far *user, b Buf[uint32]) { r.ok(far.take(b.Handle)) },
		"returned":                func(r *rig, from, to, far *user, b Buf[uint32]) { Return(handles(b.Handle)) },
		"dropped":                 func(r *rig, from, to, far *user, b Buf[uint32]) { Drop(handles(b.Handle)) },
		"its owner ended":         func(r *rig, from, to, far *user, b Buf[uint32]) { from.end(); Drop(handles(b.Handle)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 0)
			from, to, far := r.user(r.devs[0], "from"), r.user(r.devs[0], "to"), r.user(r.devs[1], "far")
			g := r.gate()
			b, err := New[uint32](from, 16)
			r.ok(err)
			g.hold(from)
			r.ok(from.fill(b, 1))
			r.ok(from.give(b.Handle))
			if b.x.held == (device.Hold{}) {
				t.Fatal("no event is held: the test shows nothing")
			}
			end(r, from, to, far, b)
			if b.x.held != (device.Hold{}) {
				t.Error("the event is still held")
			}
			g.open()
		})
	}
}
