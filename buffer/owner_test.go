package buffer

import "testing"

// What an owner leaves behind is released in the order of its stream: all that it
// owns, and nothing that is on its way or somebody else's.
func TestReclaim(t *testing.T) {
	r := newRig(t, 0)
	a, b, far := r.user(r.devs[0], "A"), r.user(r.devs[0], "B"), r.user(r.devs[1], "far")
	g := r.gate()
	const n = 1 << 18
	var bufs [5]Buf[uint32]
	for i := range bufs {
		var err error
		bufs[i], err = New[uint32](a, n)
		r.ok(err)
	}
	mine, given, theirs, foreign, bad := bufs[0], bufs[1], bufs[2], bufs[3], bufs[4]
	h, err := NewHost[uint32](a, n)
	r.ok(err)
	r.ok(a.give(theirs.Handle))
	r.ok(b.take(theirs.Handle))
	r.ok(a.give(foreign.Handle))
	r.ok(far.take(foreign.Handle))
	r.ok(a.give(given.Handle))
	bad.x.Poison(bad.gen, errRefused)
	a.sync()
	g.hold(a)
	r.ok(a.fill(mine, 1))
	block := mine.Block()

	owned := a.o.Owned()
	if len(owned) != 3 {
		t.Errorf("A owns %d, want 3", len(owned))
	}
	if n := a.o.ReclaimThese([]Handle{mine.Handle, theirs.Handle, given.Handle}); n != 1 {
		t.Errorf("%d of those were A's, want 1", n)
	}
	if n := a.o.Reclaim(); n != 2 || bad.Valid() || h.Valid() {
		t.Errorf("%d were A's, want 2", n)
	}
	if n := a.o.Reclaim(); n != 0 {
		t.Errorf("%d more", n)
	}
	if given.State() != InFlight || theirs.State() != Exclusive || foreign.State() != Foreign {
		t.Errorf("others are %v, %v, %v", given.State(), theirs.State(), foreign.State())
	}
	other, err := New[uint32](b, n)
	r.ok(err)
	if other.Block() == block {
		t.Error("the memory is still being written")
	}
	if n := far.o.Reclaim(); n != 1 || foreign.Valid() {
		t.Errorf("%d were far's, want 1", n)
	}
	if n := Drop(handles(given.Handle)); n != 1 {
		t.Errorf("%d dropped", n)
	}
}

// When a device is closed nothing of it is left, whoever owned it; others are not
// touched.
func TestReclaimDevices(t *testing.T) {
	r := newRig(t, 0)
	a, b := r.user(r.devs[0], "A"), r.user(r.devs[1], "B")
	var here, there [3]Buf[uint32]
	for i := range here {
		var err error
		here[i], err = New[uint32](a, 4)
		r.ok(err)
		there[i], err = New[uint32](b, 4)
		r.ok(err)
	}
	h, err := HostOn[uint32](r.devs[0], 4)
	r.ok(err)
	r.ok(a.give(here[0].Handle))
	r.ok(b.take(here[0].Handle))
	r.ok(a.give(here[1].Handle))
	if n := ReclaimDevices(r.devs[0]); n != 4 || h.Valid() {
		t.Errorf("%d reclaimed, want 4", n)
	}
	for i := range there {
		if here[i].Valid() || !there[i].Valid() {
			t.Errorf("%d: here %v, there %v", i, here[i].Valid(), there[i].Valid())
		}
	}
}

// Identities are never zero, the hosts', or two owners' at once, also when their
// numbers begin again.
func TestIdentitiesBeginAgain(t *testing.T) {
	first := NewOwner("first", nil)
	defer first.End()
	owners.Lock()
	before := owners.last
	owners.last = 1<<32 - 2
	owners.Unlock()
	var all []*Owner
	defer func() {
		for _, o := range all {
			o.End()
		}
		owners.Lock()
		owners.last = max(owners.last, before)
		owners.Unlock()
	}()
	seen := map[uint32]bool{0: true, hostID: true, first.ID: true}
	for range first.ID + 10 {
		o := NewOwner("again", nil)
		all = append(all, o)
		if seen[o.ID] {
			t.Fatalf("%d is somebody else's", o.ID)
		}
		seen[o.ID] = true
		if ownerOf(o.ID) != o {
			t.Fatalf("%d is not found", o.ID)
		}
	}
}
