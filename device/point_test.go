package device

import (
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

func TestPointOfNothing(t *testing.T) {
	var p Point
	done, err := p.Done(nil)
	if !p.Known() || !done || err != nil || p.Stream() != nil || p.String() != "nothing" {
		t.Errorf("the zero point: known %v, done %v (%v), %q", p.Known(), done, err, p)
	}
}

// A wait that a watermark covers is not issued, and no event is recorded for it.
func TestWaitsThatAWatermarkCoversAreNotIssued(t *testing.T) {
	for _, c := range []struct {
		name          string
		waits, record int
		do            func(r *rig, a, b *Stream, g *gate) // b waits, or need not
	}{
		{"for nothing", 0, 0, func(r *rig, a, b *Stream, g *gate) {
			r.ok(b.WaitFor(Point{}, ""))
		}},
		{"for itself", 0, 0, func(r *rig, a, b *Stream, g *gate) {
			g.hold(b)
			r.ok(b.WaitFor(b.Given(), ""))
		}},
		{"for what is known complete", 0, 1, func(r *rig, a, b *Stream, g *gate) {
			p := r.flush(a)
			r.sync(a)
			r.ok(b.WaitFor(p, ""))
		}},
		{"for what is recorded", 1, 1, func(r *rig, a, b *Stream, g *gate) {
			g.hold(a)
			r.ok(b.WaitFor(r.flush(a), ""))
		}},
		{"for what nobody has recorded", 1, 1, func(r *rig, a, b *Stream, g *gate) {
			g.hold(a)
			r.ok(b.WaitFor(a.Given(), ""))
		}},
		{"twice", 1, 1, func(r *rig, a, b *Stream, g *gate) {
			g.hold(a)
			r.ok(b.WaitFor(r.flush(a), ""))
			r.ok(b.WaitFor(a.Given(), ""))
		}},
		{"twice, submitted in between", 1, 1, func(r *rig, a, b *Stream, g *gate) {
			g.hold(a)
			p := r.flush(a)
			r.ok(b.WaitFor(p, ""))
			_, err := b.Flush(false)
			r.ok(err)
			r.ok(b.WaitFor(p, ""))
		}},
		{"for less than before", 1, 1, func(r *rig, a, b *Stream, g *gate) {
			g.hold(a)
			early := a.Given()
			g.hold(a)
			r.ok(b.WaitFor(r.flush(a), ""))
			r.ok(b.WaitFor(early, ""))
		}},
		{"for more than before", 2, 2, func(r *rig, a, b *Stream, g *gate) {
			g.hold(a)
			r.ok(b.WaitFor(r.flush(a), ""))
			g.hold(a)
			r.ok(b.WaitFor(r.flush(a), ""))
		}},
		{"for eight streams, twice", 8, 8, func(r *rig, a, b *Stream, g *gate) {
			var points []Point
			for range 8 { // more than are remembered in one place
				s := r.stream(r.devs[0], "one of eight")
				g.hold(s)
				points = append(points, r.flush(s))
			}
			for range 2 {
				for _, p := range points {
					r.ok(b.WaitFor(p, ""))
				}
			}
		}},
		{"for less, recorded later", 1, 1, func(r *rig, a, b *Stream, g *gate) {
			g.hold(a)
			early := a.Given()
			g.hold(a)
			late := r.flush(a)
			r.ok(b.WaitFor(early, "")) // the event that there is stands behind both
			r.ok(b.WaitFor(late, ""))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, 0)
			a, b, g := r.stream(r.devs[0], "a"), r.stream(r.devs[0], "b"), r.gate()
			r.on(r.devs[0])
			if c.record > 0 && c.waits == 0 {
				r.fill(a, wordsOf(r.alloc(a, 512)), 1)
			}
			r.rt.take()
			c.do(r, a, b, g)
			_, err := b.Flush(false)
			r.ok(err)
			n := r.rt.take()
			if n.ops[cudart.OpWait] != c.waits || n.ops[cudart.OpRecord] != c.record {
				t.Errorf("%d waits and %d records, want %d and %d", n.ops[cudart.OpWait], n.ops[cudart.OpRecord], c.waits, c.record)
			}
		})
	}
}

// A stream that waits runs behind what it waits for, and a point is not done before
// its stream has come there; other streams are not held.
func TestWaitForHoldsTheStream(t *testing.T) {
	r := newRig(t, 0)
	a, b, c := r.stream(r.devs[0], "a"), r.stream(r.devs[0], "b"), r.stream(r.devs[1], "c")
	g := r.gate()
	r.on(r.devs[0])
	src, dst := wordsOf(r.alloc(a, 4096)), wordsOf(r.alloc(b, 4096))
	r.sync(a, b, c)
	g.hold(a)
	r.fill(a, src, 7)
	p := r.flush(a)
	r.on(r.devs[0])
	r.ok(b.WaitFor(p, "the data"))
	r.copy(b, dst, src)
	end := r.flush(b)
	r.sync(c) // nobody's stream
	if done, err := end.Done(r.cur); done || err != nil || p.Known() {
		t.Fatalf("done %v (%v) while the gate is closed", done, err)
	}
	g.open()
	r.until("b is done", func() bool { done, err := end.Done(r.cur); r.ok(err); return done })
	if !p.Known() {
		done, err := p.Done(r.cur)
		if !done || err != nil {
			t.Errorf("b has waited for a, which is not done (%v)", err)
		}
	}
	if got := r.read(b, dst); got[0] != 7 || got[len(got)-1] != 7 {
		t.Errorf("b copied %v…", got[0])
	}
}

// Done asks for any point from a thread without a context, also where no event
// stands for it yet; what is not submitted is not done and is not waited for.
func TestDoneFromElsewhere(t *testing.T) {
	r := newRig(t, 0)
	a, g := r.stream(r.devs[0], "a"), r.gate()
	r.on(r.devs[0])
	mem := wordsOf(r.alloc(a, 512))
	g.hold(a)
	r.fill(a, mem, 1)
	if a.Pending() == 0 {
		t.Fatal("a is busy, and what it is given is not collected")
	}
	pending := a.Next()
	if done, err := pending.Done(r.cur); done || err != nil {
		t.Errorf("what is not submitted: done %v (%v)", done, err)
	}
	result := make(chan error)
	go func() { // no context current there
		_, err := a.Given().Done(nil)
		result <- err
	}()
	r.ok(<-result)
	g.open()
	r.flush(a)
	go func() {
		var err error
		for done := false; !done && err == nil; {
			done, err = pending.Done(nil)
		}
		result <- err
	}()
	r.ok(<-result)
}
