package device

import "testing"

// What an owner has released is its own to take again, without anything else; others
// see it when the owner submits, or its turn ends, and get it when it is complete.
func TestKeptBlocks(t *testing.T) {
	r := newRig(t, 0)
	a, b, g := r.stream(r.devs[0], "a"), r.stream(r.devs[0], "b"), r.gate()
	d := r.devs[0]
	x := r.alloc(a, 4096)
	r.sync(a)
	r.rt.take()
	for range 1000 {
		a.Release(x)
		if got := r.alloc(a, 4000); got != x {
			t.Fatal("another block than the one released last")
		}
	}
	if n := r.rt.take(); n != (counts{}) || a.Unsettled() {
		t.Errorf("the driver was called: %+v; unsettled: %v", n, a.Unsettled())
	}

	g.hold(a)
	r.fill(a, wordsOf(x), 1)
	a.Release(x)
	if !a.Unsettled() {
		t.Error("a kept block does not count")
	}
	if early := r.alloc(b, 4096); early == x {
		t.Fatal("the block is in use")
	}
	_, err := a.Flush(false)
	r.ok(err)
	if a.Unsettled() {
		t.Error("unsettled after a flush")
	}
	if early := r.alloc(b, 4096); early == x {
		t.Fatal("the block is in use")
	}
	g.open()
	r.sync(a)
	if late := r.alloc(b, 4096); late != x {
		t.Error("the block is free and was not found")
	}

	// For another stream's first use a kept block comes with its point.
	y := r.alloc(a, 1<<19)
	r.sync(a)
	again := r.gate()
	again.hold(a)
	r.fill(a, wordsOf(y), 2)
	a.Release(y)
	got, err := d.Alloc(a, 1<<19, true)
	r.ok(err)
	if got != y || got.Ready() != a.Next() {
		t.Errorf("the block is ready at %v, want %v", got.Ready(), a.Next())
	}
}

// A large block, one of another device, and one too many are not kept.
func TestBlocksThatAreNotKept(t *testing.T) {
	r := newRig(t, 0)
	a, far := r.stream(r.devs[0], "a"), r.stream(r.devs[1], "far")
	large, theirs := r.alloc(a, 2*hotBytes), r.alloc(far, 4096)
	a.Release(large)
	a.Release(theirs)
	if len(a.hot) != 0 {
		t.Errorf("%d blocks are kept", len(a.hot))
	}
	var blocks []*Block
	for range hotBlocks + 3 {
		blocks = append(blocks, r.alloc(a, 512))
	}
	for _, b := range blocks {
		a.Release(b)
	}
	if len(a.hot) != hotBlocks {
		t.Errorf("%d blocks are kept, want %d", len(a.hot), hotBlocks)
	}
	r.sync(a)
	r.on(far.d)
	r.ok(far.d.PollMemory(r.cur))
	if m := r.devs[0].Memory(); m.Held != 0 {
		t.Errorf("%+v", m)
	}
	if m := r.devs[1].Memory(); m.Held != 0 {
		t.Errorf("on the other device: %+v", m)
	}
}
