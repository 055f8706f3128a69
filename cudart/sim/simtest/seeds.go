// Package simtest runs tests under the simulator's clock of chaos.
//
//	func TestPipeline(t *testing.T) {
//		simtest.Seeds(t, sim.Config{}, 1000, func(t testing.TB, rt cudart.Runtime) {
//			...
//		})
//	}
//
// A seed that fails is made a short schedule, which is printed with the command that
// runs it again:
//
//	GPUACTOR_SIM_SEED=17 go test -run '^TestPipeline$' example.com/pipeline
//	GPUACTOR_SIM_SCHEDULE='12.0=1 14.2=3' go test -run '^TestPipeline$' example.com/pipeline
package simtest

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// What has a test run one seed, or one schedule, in place of all.
const (
	EnvSeed     = "GPUACTOR_SIM_SEED"
	EnvSchedule = "GPUACTOR_SIM_SCHEDULE"
)

// Seeds runs f with the clock of chaos for the seeds from 0 to n-1, until one fails.
// Each run has a machine of its own, made from c, whose clock is not used, and closed
// behind f; f runs on a goroutine of its own and calls the runtime from it alone, or
// what it does is not decided by the seed. f may fail several times for what is one
// failure of t: the shortest schedule that fails is looked for. Its t has no Run.
func Seeds(t *testing.T, c sim.Config, n int, f func(t testing.TB, rt cudart.Runtime)) {
	t.Helper()
	if text := os.Getenv(EnvSchedule); text != "" {
		s, err := sim.ParseSchedule(text)
		if err != nil {
			t.Fatal(err)
		}
		once(t, c, sim.Replay(s), f).report(t)
		return
	}
	from, to := uint64(0), uint64(n)
	if text := os.Getenv(EnvSeed); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("simtest: %s: %v", EnvSeed, err)
		}
		from, to = seed, seed+1
	}
	for seed := from; seed < to; seed++ {
		clock := sim.Chaos(seed)
		a := once(t, c, clock, f)
		if a.Skipped() {
			t.Skip(a.text())
		}
		if a.Failed() {
			t.Error(explain(t, c, seed, a, f))
			return
		}
	}
}

// once is one run of f.
func once(t *testing.T, c sim.Config, clock *sim.Steps, f func(t testing.TB, rt cudart.Runtime)) *attempt {
	c.Clock = clock
	a := &attempt{TB: t, clock: clock}
	rt := sim.New(c)
	a.run(func() { f(a, rt) })
	if err := rt.Close(); err != nil {
		a.Errorf("close: %v", err)
	}
	return a
}

// explain is what is said of a seed that failed: how to run it again, and the shortest
// schedule that fails.
func explain(t *testing.T, c sim.Config, seed uint64, a *attempt, f func(t testing.TB, rt cudart.Runtime)) string {
	s := a.clock.Schedule()
	short := sim.Shrink(s, func(clock *sim.Steps) bool { return once(t, c, clock, f).Failed() })
	last := once(t, c, sim.Replay(short), f)
	again := command(t, f)
	text := fmt.Sprintf("seed %d fails:\n  %s\n\nrepeat it:\n  %s=%d %s", seed, indent(a.text()), EnvSeed, seed, again)
	if !last.Failed() {
		return text + "\n\nIt does not fail again: something but the seed decides what happens."
	}
	return fmt.Sprintf("%s\n\nor a shorter one (%d choices of %d):\n  %s='%v' %s\n\nof which this is what happens:\n  %s\n%v",
		text, short.Len(), s.Len(), EnvSchedule, short, again, indent(last.text()), last.clock.Trace())
}

func indent(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// command runs the test alone, in the package that f is written in.
func command(t *testing.T, f func(t testing.TB, rt cudart.Runtime)) string {
	var parts []string
	for _, p := range strings.Split(t.Name(), "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(p)+"$")
	}
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	slash := strings.LastIndexByte(name, '/') + 1
	dot := slash + strings.IndexByte(name[slash:], '.')
	return fmt.Sprintf("go test -run '%s' %s", strings.Join(parts, "/"), strings.TrimSuffix(name[:dot], "_test"))
}
