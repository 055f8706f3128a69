package sim_test

import (
	"errors"
	"fmt"
	"testing"

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
