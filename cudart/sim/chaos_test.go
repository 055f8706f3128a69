package sim_test

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// What is ordered is never disturbed.
func TestConformanceUnderChaos(t *testing.T) {
	seeds := 8
	if testing.Short() {
		seeds = 2
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			cudarttest.Run(t, func(t *testing.T) cudart.Runtime {
				return sim.New(sim.Config{Clock: sim.Chaos(seed)})
			})
		})
	}
}

// seen is how many of n seeds show that the pipeline is wrong.
func seen(t *testing.T, n int, out flaw) (failed []uint64) {
	for seed := range uint64(n) {
		rt := sim.New(sim.Config{Clock: sim.Chaos(seed)})
		if err := run(rt, 2, pipeline(20, out)); errors.Is(err, errWrong) {
			failed = append(failed, seed)
		} else if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		check(rt.Close())
	}
	return failed
}

func TestChaosShowsWhatIsNotOrdered(t *testing.T) {
	n := 200
	if failed := seen(t, n, none); len(failed) > 0 {
		t.Fatalf("a pipeline that is right fails with seeds %v", failed)
	}
	for _, out := range []flaw{noWait, noWaitBefore, noSync} {
		failed := seen(t, n, out)
		t.Logf("flaw %d: %d of %d seeds, the first is %v", out, len(failed), n, failed[:min(1, len(failed))])
		if len(failed) < n/10 {
			t.Errorf("flaw %d is seen by %d of %d seeds", out, len(failed), n)
		}
	}
}

// The same seed and the same calls make the same steps.
func TestChaosReplaysExactly(t *testing.T) {
	traceOf := func(c *sim.Steps) sim.Trace {
		rt := sim.New(sim.Config{Clock: c})
		check(run(rt, 2, pipeline(20, none)))
		check(rt.Close())
		return c.Trace()
	}
	seen := map[uint64]bool{}
	for seed := range uint64(50) {
		c := sim.Chaos(seed)
		a, b := traceOf(c), traceOf(sim.Chaos(seed))
		if a.Hash != b.Hash || a.Total != b.Total || a.String() != b.String() {
			t.Fatalf("seed %d made two traces:\n%v\n%v", seed, a, b)
		}
		again := must(sim.ParseSchedule(c.Schedule().String()))
		if r := traceOf(sim.Replay(again)); r.Hash != a.Hash {
			t.Fatalf("the schedule of seed %d, %v, makes another trace:\n%v\n%v", seed, again, a, r)
		}
		seen[a.Hash] = true
	}
	if len(seen) != 50 {
		t.Errorf("50 seeds make %d traces", len(seen))
	}
}

func BenchmarkChaosPipeline(b *testing.B) {
	seed := uint64(0)
	for b.Loop() {
		seed++
		rt := sim.New(sim.Config{Clock: sim.Chaos(seed)})
		check(run(rt, 2, pipeline(20, none)))
		check(rt.Close())
	}
}

// A failing schedule is shrunk to the choices that matter.
func TestShrink(t *testing.T) {
	fails := func(c *sim.Steps) bool {
		rt := sim.New(sim.Config{Clock: c})
		defer func() { check(rt.Close()) }()
		return errors.Is(run(rt, 2, pipeline(20, noWaitBefore)), errWrong)
	}
	for seed, done := uint64(0), 0; done < 5; seed++ {
		c := sim.Chaos(seed)
		if !fails(c) {
			continue
		}
		done++
		long := c.Schedule()
		short := sim.Shrink(long, fails)
		t.Logf("seed %d: %d choices, then %v", seed, long.Len(), short)
		if !fails(sim.Replay(short)) || short.Len() > 2 {
			t.Errorf("%v", short)
		}
	}
}

func TestSchedulesAreRead(t *testing.T) {
	for _, text := range []string{"calm", "3.0=2", "3.0=2 3.1=1 10.0=7", "halves 4.0=1"} {
		if s, err := sim.ParseSchedule(text); err != nil || strings.TrimPrefix(s.String(), "calm ") != text {
			t.Errorf("%q is read as %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"x", "3=2", "3.0", "3.0=x", "-1.0=2", "3.1=1 3.0=1", "3.0=1 3.0=1"} {
		if s, err := sim.ParseSchedule(text); err == nil {
			t.Errorf("%q is read as %v", text, s)
		}
	}
}

// A kernel that waits for the host is suspended: the same goroutine goes on, and
// opens it. One that nobody opens ends when the machine is closed.
func TestChaosSuspendsAKernelThatWaits(t *testing.T) {
	for seed := range uint64(50) {
		rt := sim.New(sim.Config{Clock: sim.Chaos(seed)})
		err := run(rt, 2, func(p *program) error {
			flags, a, e, got := p.pinned(2), p.words(4), p.event(), p.pinned(4)
			gate := func(l *cudart.List, i int) {
				p.launch(l, "gate", 1, cudart.Arg{Slot: uint64(uintptr(unsafe.Pointer(&flags[i]))), Bytes: 4, Access: cudart.In}, cudart.Arg{Slot: uint64(time.Hour)})
			}
			p.on(0, func(l *cudart.List) { gate(l, 0); p.fill(l, a, 4, 7); l.Record(e) })
			p.on(1, func(l *cudart.List) { l.Wait(e); download(l, got, a) })
			for range 20 {
				if must(rt.QueryEvent(e)) {
					return errors.New("the gate was passed")
				}
			}
			atomic.StoreUint32(&flags[0], 1)
			p.sync(1)
			p.on(0, func(l *cudart.List) { gate(l, 1) })
			must(rt.QueryEvent(e))
			return wrong(got, 7)
		})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		check(rt.Close())
	}
}

// Whoever polls sees progress, and only so much at once that a query can be in vain.
func TestChaosQueriesEndInTheEnd(t *testing.T) {
	vain := 0
	for seed := range uint64(100) {
		rt := sim.New(sim.Config{Clock: sim.Chaos(seed)})
		check(run(rt, 2, func(p *program) error {
			a, e := p.words(4), p.event()
			for range 5 {
				p.on(0, func(l *cudart.List) { p.add(l, a, 4, 1); l.Record(e) })
			}
			polls := 0
			for !must(rt.QueryEvent(e)) {
				if polls++; polls > 16*100 {
					t.Fatalf("seed %d: %d queries in vain", seed, polls)
				}
			}
			vain += polls
			return nil
		}))
		check(rt.Close())
	}
	if vain == 0 {
		t.Error("no query was ever in vain")
	}
	// The calmest device does nothing by itself, but for who asks.
	rt := sim.New(sim.Config{Clock: sim.Replay(sim.Schedule{})})
	check(run(rt, 1, func(p *program) error {
		e, a := p.event(), p.words(4)
		p.on(0, func(l *cudart.List) { p.add(l, a, 4, 1); l.Record(e) })
		polls := 0
		for ; polls < 10 && !must(rt.QueryEvent(e)); polls++ {
		}
		if polls == 0 || polls == 10 {
			t.Errorf("%d queries in vain", polls)
		}
		return nil
	}))
	check(rt.Close())
}

// The host sees a download arrive in pieces, and reads an upload's source late.
func TestChaosTearsWhatTheHostSees(t *testing.T) {
	torn, late := 0, 0
	for seed := range uint64(200) {
		rt := sim.New(sim.Config{Clock: sim.Chaos(seed)})
		check(run(rt, 1, func(p *program) error {
			a, got, from := p.words(64), p.pinned(64), p.pinned(64)
			p.on(0, func(l *cudart.List) { p.fill(l, a, 64, ^uint32(0)); download(l, got, a) })
			n := 0
			for _, w := range got {
				n += bits.OnesCount32(w)
			}
			if n > 0 && n < 64*32 {
				torn++
			}
			p.on(0, func(l *cudart.List) { upload(l, a, from) })
			from[5] = 1
			p.on(0, func(l *cudart.List) { download(l, got, a) })
			p.sync(0)
			late += int(got[5])
			return nil
		}))
		check(rt.Close())
	}
	t.Logf("of 200 seeds %d show half a download, %d an upload's source that was overwritten", torn, late)
	if torn == 0 || late == 0 || late == 200 {
		t.Error("not seen")
	}
}
