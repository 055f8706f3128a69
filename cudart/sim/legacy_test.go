package sim

import (
	"runtime"
	"sync"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

var _ cudart.DefaultStreams = (*simulator)(nil)

// newDefaults is a rig by hand with two blocking streams and the legacy one.
func newDefaults(t *testing.T) (g *rig, a, b, legacy cudart.Stream) {
	g = newHandRig(t, Config{})
	return g, must(g.r.CreateBlockingStream(g.ctx)), must(g.r.CreateBlockingStream(g.ctx)), g.r.LegacyStream(g.ctx)
}

func TestLegacyStreamTakesTurns(t *testing.T) {
	g, a, b, legacy := newDefaults(t)
	g.say(b, 1)
	g.say(legacy, 2)
	g.say(legacy, 3)
	g.say(a, 4)
	g.say(g.stream, 5)
	g.hand.only(g.of(a))
	g.hand.only(g.of(legacy))
	g.logged()
	g.hand.only(g.of(g.stream)) // non-blocking
	g.hand.only(g.of(b))
	g.logged(5, 1)
	g.hand.only(g.of(a)) // held at the legacy stream
	g.hand.all()
	g.logged(5, 1, 2, 3, 4)
}

func TestARefusedCommandOnTheLegacyStreamOrdersNothing(t *testing.T) {
	g, a, b, legacy := newDefaults(t)
	foreign := must(g.r.CreateContext(0))
	g.use(foreign)
	other := must(g.r.CreateEvent(foreign, false))
	g.use(g.ctx)
	e := must(g.r.CreateEvent(g.ctx, false))
	g.is(g.r.DestroyEvent(g.ctx, e), 0)
	for name, fill := range map[string]func(l *cudart.List){
		"launch":             func(l *cudart.List) { l.Launch(12345, one, one, 0) },
		"fill":               func(l *cudart.List) { l.Fill(3, 0, 1, 1) },
		"free":               func(l *cudart.List) { l.Free(3) },
		"record, context":    func(l *cudart.List) { l.Record(other) },
		"record, destroyed":  func(l *cudart.List) { l.Record(e) },
		"wait for destroyed": func(l *cudart.List) { l.Wait(e) },
	} {
		g.log = nil
		g.say(a, 1)
		if i, err := g.try(legacy, fill); i != 0 || err == nil {
			t.Fatalf("%s: refused %d, %v", name, i, err)
		}
		g.say(b, 2)
		g.hand.only(g.of(b))
		if len(g.log) != 1 {
			t.Errorf("%s: behind it the other blocking stream waits", name)
		}
		g.hand.all()
	}
}

func TestAnAllocationIsACommandOfTheLegacyStream(t *testing.T) {
	g, a, b, legacy := newDefaults(t)
	g.say(a, 1)
	must(g.r.Alloc(g.ctx, g.pool, 64, legacy))
	g.say(b, 2)
	g.hand.only(g.of(b))
	g.logged()
	g.hand.all()
	g.logged(1, 2)
}

// Also where what it waits for is done already.
func TestAWaitIsACommandOfTheLegacyStream(t *testing.T) {
	g, a, b, legacy := newDefaults(t)
	e := must(g.r.CreateEvent(g.ctx, false))
	g.submit(g.stream, func(l *cudart.List) { l.Record(e) })
	g.say(a, 1)
	g.submit(legacy, func(l *cudart.List) { l.Wait(e) })
	g.say(b, 2)
	g.hand.only(g.of(b))
	g.logged()
	g.hand.all()
	g.logged(1, 2)
}

func TestADestroyedBlockingStreamIsForgotten(t *testing.T) {
	g, a, _, legacy := newDefaults(t)
	g.say(a, 1)
	g.is(g.r.DestroyStream(g.ctx, a), 0)
	g.say(legacy, 2)
	d := &g.of(legacy).ctx.defaults
	if n := len(d.blocking); n != 2 {
		t.Fatalf("%d blocking streams, of which one has work left", n)
	}
	g.hand.all()
	g.say(legacy, 3)
	if n := len(d.blocking); n != 1 {
		t.Fatalf("%d blocking streams are left", n)
	}
	g.hand.all()
	g.logged(1, 2, 3)
}

// Two threads that submit to both at once: whatever the order, no circle of waits.
func TestI2_DefaultStreamsNeverWaitInACircle(t *testing.T) {
	g := newRig(t, Config{})
	streams := []cudart.Stream{g.r.LegacyStream(g.ctx), must(g.r.CreateBlockingStream(g.ctx)), must(g.r.CreateBlockingStream(g.ctx))}
	e := must(g.r.CreateEvent(g.ctx, false))
	g.within("submitting to the default streams", func() {
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				g.use(g.ctx)
				defer g.use(0)
				l := must(cudart.NewList(1 << 12))
				defer l.Close()
				for k := range 500 {
					l.Reset()
					l.Wait(e)
					l.Record(e)
					if _, err := g.r.Submit(g.ctx, streams[(i+k)%3], l); err != nil {
						t.Error(err)
					}
				}
				g.is(g.r.SynchronizeStream(g.ctx, streams[0]), 0)
			})
		}
		all.Wait()
	})
}
