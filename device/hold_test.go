package device

import (
	"slices"
	"testing"
)

// An event that is held is not recorded again, however far its stream gets, until it
// has been waited for or dropped; then it is.
func TestHold(t *testing.T) {
	r := newRig(t, 0)
	a, b := r.stream(r.devs[0], "a"), r.stream(r.devs[0], "b")
	x := wordsOf(r.alloc(a, 4096))
	again := func(h Hold) bool { // whether the event may be recorded again
		for range 2 * reapAt {
			r.fill(a, x, 1)
			r.sync(a)
			if slices.Contains(a.spare, h.m) {
				return true
			}
		}
		return false
	}
	r.fill(a, x, 1)
	p := r.flush(a)
	h := a.Hold(p, 2)
	if h.m == nil || h.m.n != p.n {
		t.Fatalf("the hold is of %+v, want %v", h.m, p)
	}
	if again(h) {
		t.Fatal("to be recorded again while it is held")
	}
	h.Drop()
	if again(h) {
		t.Fatal("to be recorded again while somebody still holds it")
	}
	r.ok(b.WaitForHeld(p, h, "")) // complete: there is nothing to wait for, and the hold ends
	if b.Pending() != 0 {
		t.Error("a wait for what is complete")
	}
	if !again(h) {
		t.Error("never to be recorded again, though nobody holds it")
	}

	g := r.gate()
	g.hold(a)
	p = r.flush(a)
	h = a.Hold(p, 1)
	r.ok(b.WaitForHeld(p, h, ""))
	if b.Pending() != 1 || h.m.pins.Load() != 1 {
		t.Errorf("%d commands pending, %d pins; want the wait, and the hold until it is submitted", b.Pending(), h.m.pins.Load())
	}
	_, err := b.Flush(false)
	r.ok(err)
	if n := h.m.pins.Load(); n != 0 {
		t.Errorf("%d pins when the wait has been submitted", n)
	}
	if h := a.Hold(Point{a, p.n + 5}, 1); h.m != nil {
		t.Error("a hold of what has not been recorded")
	}
	g.open()
	r.sync(a, b)
	if h := a.Hold(p, 1); h.m != nil {
		t.Error("a hold of what is complete")
	}
}
