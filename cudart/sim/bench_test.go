package sim

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// round is a turn of a pipeline with every kind of command in it.
func (g *rig) round(p cudart.DevicePtr, h unsafe.Pointer, b cudart.Stream, e, timed cudart.Event) {
	g.list.Reset()
	g.list.CopyHtoD(p, h, 256)
	g.list.CopyDtoD(p+256, p, 256)
	g.list.Fill(p, 1, 4, 8)
	g.touch(g.list, p)
	g.list.CopyDtoH(h, p, 64)
	g.list.Record(timed)
	g.list.Record(e)
	must(g.r.Submit(g.ctx, g.stream, g.list))
	g.list.Reset()
	g.list.Wait(e)
	g.touch(g.list, p)
	q := must(g.r.Alloc(g.ctx, g.pool, 4096, b))
	g.list.Free(q)
	g.list.Record(e)
	must(g.r.Submit(g.ctx, b, g.list))
	g.list.Reset()
	g.list.Wait(e)
	must(g.r.Submit(g.ctx, g.stream, g.list))
	must(g.r.QueryEvent(e))
	g.is(g.r.SynchronizeStream(g.ctx, g.stream), 0)
}

// Allocations are counted for the whole process, so those of the goroutines that
// run the streams are seen too.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	g := newRig(t, Config{})
	p, h, b := g.alloc(4096), g.host(256), g.newStream()
	e, timed := must(g.r.CreateEvent(g.ctx, false)), must(g.r.CreateEvent(g.ctx, true))
	run := func() { g.round(p, unsafe.Pointer(&h[0]), b, e, timed) }
	for range 2000 {
		run()
	}
	var before, after runtime.MemStats
	const rounds = 5000
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range rounds {
		run()
	}
	runtime.ReadMemStats(&after)
	// The Go runtime has a few of its own, now and then; ours would be one a round.
	if n := after.Mallocs - before.Mallocs; n > rounds/20 {
		t.Errorf("%d allocations in %d rounds", n, rounds)
	}
}

func BenchmarkSubmit(b *testing.B) {
	for name, fill := range map[string]func(g *rig, p cudart.DevicePtr){
		"launch": func(g *rig, p cudart.DevicePtr) { g.touch(g.list, p) },
		"copy":   func(g *rig, p cudart.DevicePtr) { g.list.CopyDtoD(p, p+2048, 64) },
	} {
		b.Run(name, func(b *testing.B) {
			g := newRig(b, Config{})
			p := g.alloc(4096)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				g.list.Reset()
				fill(g, p)
				must(g.r.Submit(g.ctx, g.stream, g.list))
				if i%64 == 63 {
					g.is(g.r.SynchronizeStream(g.ctx, g.stream), 0)
				}
			}
		})
	}
}

func BenchmarkRound(b *testing.B) {
	g := newRig(b, Config{})
	p, h, s := g.alloc(4096), g.host(256), g.newStream()
	e, timed := must(g.r.CreateEvent(g.ctx, false)), must(g.r.CreateEvent(g.ctx, true))
	b.ReportAllocs()
	for b.Loop() {
		g.round(p, unsafe.Pointer(&h[0]), s, e, timed)
	}
}

func BenchmarkAllocFree(b *testing.B) {
	g := newRig(b, Config{})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p := g.alloc(4096)
		g.list.Reset()
		g.list.Free(p)
		must(g.r.Submit(g.ctx, g.stream, g.list))
		if i%64 == 63 {
			g.is(g.r.SynchronizeStream(g.ctx, g.stream), 0)
		}
	}
}
