package sim

import (
	"testing"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// What another stream writes into new memory without an edge is lost for some seed, and
// with one for none.
func TestUnderChaosAnAllocationIsInTheOrderOfItsStream(t *testing.T) {
	for _, edge := range []bool{false, true} {
		lost := 0
		for seed := range uint64(100) {
			g := newRig(t, Config{Clock: Chaos(seed)})
			other, e, h := g.newStream(), must(g.r.CreateEvent(g.ctx, false)), g.host(1)
			p := g.alloc(1)
			if edge {
				g.submit(g.stream, func(l *cudart.List) { l.Record(e) })
				g.submit(other, func(l *cudart.List) { l.Wait(e) })
			}
			g.submit(other, func(l *cudart.List) { l.Fill(p, 7, 1, 1) })
			g.is(g.r.SynchronizeContext(g.ctx), 0)
			g.submit(other, func(l *cudart.List) { l.CopyDtoH(unsafe.Pointer(&h[0]), p, 1) })
			g.is(g.r.SynchronizeContext(g.ctx), 0)
			if h[0] != 7 {
				lost++
			}
			g.is(g.r.SetCurrent(0), 0)
			g.is(g.r.Close(), 0)
			g.use(0)
		}
		if (lost == 0) != edge {
			t.Errorf("edge %v: %d of 100 seeds lose what was written", edge, lost)
		}
	}
}

// The same rule acts on the same command whether the clock is chaos or not.
func TestRulesDoNotCountWhatSpoilsMemory(t *testing.T) {
	g := newRig(t, Config{Clock: Chaos(1), Faults: []Fault{DeviceFault{Device: 0, Running: true, After: 1, Code: cudart.ErrUnknown}}})
	g.alloc(64)
	g.say(g.stream, 0)
	g.say(g.stream, 1)
	g.is(g.r.SynchronizeStream(g.ctx, g.stream), cudart.ErrUnknown)
	g.logged(0)
	g.is(g.r.SetCurrent(0), 0)
}
