package transfer

import (
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// The tests of this file show what each edge of a pull is good for: a gate holds what
// the edge waits for, and the bytes come out right; with the edge left out, and the
// gate closed until the work that did not wait is done, they come out wrong. Then the
// protection is what makes the difference, and the test sees it.
//
// On the driver only the first half is run.

// protected runs a story with all edges, and without one. finished names the stream
// whose work must not be done before the gate opens.
func protected(t *testing.T, without edge, lie, finished string, story func(r *rig, g *gate, broken func()) error) {
	t.Helper()
	t.Run("protected", func(t *testing.T) {
		r := newRig(t, sim.Config{})
		g := r.gate()
		if err := story(r, g, func() {}); err != nil {
			t.Error(err)
		}
		if g.late() {
			t.Skip("the machine was so slow that the gate may have opened by itself")
		}
	})
	name := "without " + without.waiter + " waiting for " + without.for_
	if lie != "" {
		name = "with " + lie + " said to be done"
	}
	t.Run(name, func(t *testing.T) {
		if onDriver() {
			t.Skip("on the driver wrong order may come out right by chance")
		}
		r := newRig(t, sim.Config{})
		r.edges.without, r.edges.lie = without, lie
		err := story(r, r.gate(), func() { r.finish(finished) })
		if err == nil {
			t.Error("the bytes came out right: the test does not see the edge")
		}
		if lie == "" && r.edges.dropped() == 0 {
			t.Error("there was no such wait")
		}
	})
}

// TestP1_TheCopyWaitsForTheSource: the source is still being written, on another
// stream of its device.
func TestP1_TheCopyWaitsForTheSource(t *testing.T) {
	protected(t, edge{"carrier", "source"}, "", "carrier", func(r *rig, g *gate, broken func()) error {
		src, dst := r.hand(0, "source"), r.hand(1, "destination")
		b := src.filled(1)
		src.sync()
		g.hold(src)
		src.do(func(s *actor.Stream) error { return fill(s, b, 7) })
		src.send(dst, b)
		got := dst.pull(b)
		broken()
		g.open()
		return dst.holds(got, 7)
	})
}

// TestP2_TheCopyWaitsForTheDestination: the destination's memory is still being read,
// on its own stream, by its last user.
func TestP2_TheCopyWaitsForTheDestination(t *testing.T) {
	protected(t, edge{"carrier", "destination"}, "", "carrier", func(r *rig, g *gate, broken func()) error {
		src, dst := r.hand(0, "source"), r.hand(1, "destination")
		b := src.filled(7)
		src.sync()
		src.send(dst, b)
		old, out := dst.filled(5), dst.filled(0)
		dst.sync()
		block := old.Block()
		g.hold(dst)
		dst.do(func(s *actor.Stream) error { return duplicate(s, out, old) })
		dst.release(old)
		got := dst.pull(b)
		if got.Block() != block {
			r.Fatal("the pull took other memory: the test shows nothing")
		}
		broken()
		g.open()
		if err := dst.holds(got, 7); err != nil {
			r.Error(err)
		}
		return dst.holds(out, 5)
	})
}

// TestP2_NewMemoryNeedsNoWait: memory that comes from the driver is anybody's at once,
// so the copy does not wait for what the destination's stream has to do before.
func TestP2_NewMemoryNeedsNoWait(t *testing.T) {
	r := newRig(t, sim.Config{})
	src, dst := r.hand(0, "source"), r.hand(1, "destination")
	b := src.filled(7)
	src.sync()
	src.send(dst, b)
	dst.sync()
	g := r.gate()
	g.hold(dst)
	allocs := r.sys.Device(1).Memory().Allocs
	r.edges.reset()
	got := dst.pull(b)
	if r.sys.Device(1).Memory().Allocs != allocs+1 {
		t.Fatal("no memory was allocated: the test shows nothing")
	}
	r.edges.mu.Lock()
	if n := r.edges.waits[edge{"carrier", "destination"}]; n != 0 {
		t.Errorf("the copy has %d waits for the destination's stream", n)
	}
	r.edges.mu.Unlock()
	g.open()
	r.ok(dst.holds(got, 7))
}

// TestP3_TheSourceStaysIntact: the source is gone for its owner as soon as Pull has
// returned, and its memory is asked for again at once: it is not given away before
// the copy is done.
func TestP3_TheSourceStaysIntact(t *testing.T) {
	for name, use := range map[string]func(r *rig, src *hand){
		"overwritten by its device": func(r *rig, src *hand) {
			for range 3 { // whoever needs memory there
				src.filled(9)
			}
		},
		"taken for a pull the other way": func(r *rig, src *hand) {
			other := r.hand(1, "other")
			b := other.filled(9)
			other.send(src, b)
			src.pull(b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			protected(t, edge{}, "mover", "source", func(r *rig, g *gate, broken func()) error {
				src, dst, mover := r.hand(0, "source"), r.hand(1, "destination"), r.hand(0, "mover")
				b := src.filled(7)
				src.sync()
				src.send(dst, b)
				g.hold(mover)
				got := dst.pull(b, Via(mover.ref))
				use(r, src)
				if r.edges.lie != "" {
					src.sync()
				}
				broken()
				g.open()
				r.edges.tellTheTruth()
				return dst.holds(got, 7)
			})
		})
	}
}

// TestP3_TheSourceIsFreeAfterTheCopy: and then it is.
func TestP3_TheSourceIsFreeAfterTheCopy(t *testing.T) {
	r := newRig(t, sim.Config{})
	src, dst := r.hand(0, "source"), r.hand(1, "destination")
	b := src.filled(7)
	block := b.Block()
	src.send(dst, b)
	got := dst.pull(b)
	r.ok(dst.holds(got, 7)) // the copy is done, and its stream is asked when somebody needs memory
	again := src.filled(8)
	if again.Block() != block {
		t.Error("the memory did not come back")
	}
	if m := r.sys.Device(0).Memory(); m.Allocs != 1 {
		t.Errorf("%+v", m)
	}
}

// TestP3_AForeignBufferThatIsReleased: its memory is free when its giver's work on it
// is done, and not before.
func TestP3_AForeignBufferThatIsReleased(t *testing.T) {
	r := newRig(t, sim.Config{})
	src, dst, other := r.hand(0, "source"), r.hand(1, "destination"), r.hand(0, "other")
	b := src.filled(1)
	block := b.Block()
	src.sync()
	g := r.gate()
	g.hold(src)
	src.do(func(s *actor.Stream) error { return fill(s, b, 7) })
	src.send(dst, b)
	dst.release(b)
	if early := other.filled(2); early.Block() == block {
		t.Error("the memory is still being written")
	}
	g.open()
	src.sync()
	if late := other.filled(3); late.Block() != block {
		t.Error("the memory did not come back")
	}
}

// TestP4_TheDestinationWaitsForTheCopy: the owner uses the destination as soon as
// Pull has returned.
func TestP4_TheDestinationWaitsForTheCopy(t *testing.T) {
	protected(t, edge{"destination", "mover"}, "", "destination", func(r *rig, g *gate, broken func()) error {
		src, dst, mover := r.hand(0, "source"), r.hand(1, "destination"), r.hand(0, "mover")
		b := src.filled(7)
		src.sync()
		src.send(dst, b)
		stale, out := dst.filled(3), dst.filled(0)
		block := stale.Block()
		dst.release(stale)
		dst.sync()
		g.hold(mover)
		var got Buf
		dst.do(func(s *actor.Stream) (err error) {
			if got, err = Pull(s, b, Via(mover.ref)); err != nil {
				return err
			}
			return duplicate(s, out, got)
		})
		if got.Block() != block {
			r.Fatal("the pull took other memory: the test shows nothing")
		}
		broken()
		g.open()
		return dst.holds(out, 7)
	})
}

// TestP4_WhoeverGetsTheDestinationNext waits too: it is behind its owner.
func TestP4_WhoeverGetsTheDestinationNext(t *testing.T) {
	protected(t, edge{"next", "destination"}, "", "next", func(r *rig, g *gate, broken func()) error {
		src, dst, mover, next := r.hand(0, "source"), r.hand(1, "destination"), r.hand(0, "mover"), r.hand(1, "next")
		b := src.filled(7)
		src.sync()
		src.send(dst, b)
		stale, out := dst.filled(3), next.filled(0)
		dst.release(stale)
		dst.sync()
		next.sync()
		g.hold(mover)
		got := dst.pull(b, Via(mover.ref))
		dst.send(next, got)
		next.do(func(s *actor.Stream) error { return duplicate(s, out, got) })
		broken()
		g.open()
		return next.holds(out, 7)
	})
}

// TestO7_NothingElseWaits: other streams of both devices are held all the time; the
// pull is done, and they have not been waited for, nor do they wait.
func TestO7_NothingElseWaits(t *testing.T) {
	r := newRig(t, sim.Config{})
	src, dst := r.hand(0, "source"), r.hand(1, "destination")
	others := []*hand{r.hand(0, "gpu1s2"), r.hand(1, "gpu2s2")}
	r.ok(dst.holds(func() Buf { b := src.filled(1); src.send(dst, b); return dst.pull(b) }(), 1))
	g := r.gate()
	for _, o := range others {
		g.hold(o)
	}
	r.edges.reset()
	for i := range uint32(3) {
		b := src.filled(i)
		src.send(dst, b)
		r.ok(dst.holds(dst.pull(b), i))
	}
	if g.late() {
		t.Fatal("something waited for a stream that has nothing to do with it")
	}
	r.edges.mu.Lock()
	for e := range r.edges.waits {
		for _, o := range others {
			if e.waiter == o.ref.Name() || e.for_ == o.ref.Name() {
				t.Errorf("%s waits for %s", e.waiter, e.for_)
			}
		}
	}
	r.edges.mu.Unlock()
	g.open()
}

// TestPullCounts: the records and waits of one pull, in every situation: exactly the
// edges that are needed.
func TestPullCounts(t *testing.T) {
	type waits = map[edge]int
	fresh := func(dst *hand) {} // memory from the driver, in the order of its stream
	clean := func(dst *hand) {  // a block that is known to be free
		dst.release(dst.filled(0))
		dst.sync()
	}
	inUse := func(dst *hand) {} // one that the destination's stream still reads
	for _, c := range []struct {
		name     string
		busy     bool // the source is still being written
		memory   func(dst *hand)
		occupied bool
		via      string
		elements int
		waits    waits
		records  map[string]int
		copies   map[string]int
	}{
		{"nothing to wait for but the copy", false, clean, false, "", words,
			waits{{"destination", "carrier"}: 1}, map[string]int{"carrier": 1}, map[string]int{"carrier": 1}},
		{"the source is being written", true, clean, false, "", words,
			waits{{"carrier", "source"}: 1, {"destination", "carrier"}: 1}, map[string]int{"source": 1, "carrier": 1}, map[string]int{"carrier": 1}},
		{"the destination is new", false, fresh, false, "", words,
			waits{{"destination", "carrier"}: 1}, map[string]int{"carrier": 1}, map[string]int{"carrier": 1}},
		{"the destination is being read", false, inUse, true, "", words,
			waits{{"carrier", "destination"}: 1, {"destination", "carrier"}: 1}, map[string]int{"destination": 1, "carrier": 1}, map[string]int{"carrier": 1}},
		{"both", true, inUse, true, "", words,
			waits{{"carrier", "source"}: 1, {"carrier", "destination"}: 1, {"destination", "carrier"}: 1}, map[string]int{"source": 1, "destination": 1, "carrier": 1}, map[string]int{"carrier": 1}},
		{"via who wrote it", true, clean, false, "source", words,
			waits{{"destination", "source"}: 1}, map[string]int{"source": 1}, map[string]int{"source": 1}},
		{"no elements", true, clean, false, "", 0,
			waits{}, map[string]int{}, map[string]int{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, sim.Config{})
			src, dst := r.hand(0, "source"), r.hand(1, "destination")
			warm := src.filled(0) // the transfer actor exists
			src.send(dst, warm)
			r.ok(dst.holds(dst.pull(warm), 0))
			src.sync()
			dst.sync()
			r.drain(dst)

			g := r.gate()
			var b, old Buf
			src.do(func(s *actor.Stream) (err error) {
				if b, err = buffer.New[uint32](s, c.elements); err == nil && c.elements > 0 {
					err = fill(s, b, 6)
				}
				return err
			})
			c.memory(dst)
			if c.occupied {
				old = dst.filled(1)
			}
			src.sync()
			dst.sync()
			if c.busy {
				g.hold(src)
				if c.elements > 0 {
					src.do(func(s *actor.Stream) error { return fill(s, b, 7) })
				}
			}
			if c.occupied {
				g.hold(dst)
				dst.release(old)
			}
			ch := actor.NewChan[Buf](1)
			src.do(func(s *actor.Stream) error { return ch.Send(s, b) })
			dst.do(func(s *actor.Stream) error { _, err := ch.Recv(s); return err })
			r.edges.reset()
			var opts []Option
			if c.via != "" {
				opts = append(opts, Via(src.ref))
			}
			got := dst.pull(b, opts...)
			dst.do(func(s *actor.Stream) error { return s.Submit() })
			r.edges.mu.Lock()
			if !equal(r.edges.waits, c.waits) || !equal(r.edges.records, c.records) || !equal(r.edges.copies, c.copies) {
				t.Errorf("waits %v, want %v\nrecords %v, want %v\ncopies %v, want %v",
					r.edges.waits, c.waits, r.edges.records, c.records, r.edges.copies, c.copies)
			}
			r.edges.mu.Unlock()
			g.open()
			v := uint32(6)
			if c.busy {
				v = 7
			}
			r.ok(dst.holds(got, v))
		})
	}
}

func equal[K comparable](a, b map[K]int) bool {
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	for k, v := range b {
		if a[k] != v {
			return false
		}
	}
	return true
}

// drain takes what memory is free on the hand's device, until the test ends.
func (r *rig) drain(h *hand) {
	r.Helper()
	d := r.sys.Device(h.ref.Device().Index())
	r.ok(d.PollMemory(nil))
	for {
		m := d.Memory()
		if m.Held == m.Reserved {
			return
		}
		h.do(func(s *actor.Stream) error { _, err := buffer.New[uint32](s, words); return err })
		if d.Memory().Allocs != m.Allocs {
			r.Fatal("the free memory is of another size")
		}
	}
}
