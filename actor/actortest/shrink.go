package actortest

import (
	"slices"
	"testing"

	"github.com/gpuactor/gpuactor/cudart/sim"
)

// shrink finds a short schedule that fails: it leaves out what it can of what was
// chosen, of the device and then of the actors. Nil is that the choices alone do not
// fail again.
func (c Config) shrink(t *testing.T, f Func, s Schedule) *Schedule {
	t.Helper()
	fails := func(actors []forced, clock *sim.Steps) bool {
		return c.run(t, f, chosen{schedule: Schedule{set: true, forced: actors}, clock: clock}).failed
	}
	if !fails(s.forced, sim.Replay(s.device)) {
		return nil
	}
	for {
		before := s.Len()
		s.device = sim.Shrink(s.device, func(clock *sim.Steps) bool { return fails(s.forced, clock) })
		s.forced = fewer(s.forced, func(some []forced) bool { return fails(some, sim.Replay(s.device)) })
		if s.Len() == before || s.Len() == 0 {
			return &s
		}
	}
}

// fewer leaves out what fails can do without, in ever smaller pieces.
func fewer[T any](all []T, fails func([]T) bool) []T {
	for size := len(all); size > 0; size /= 2 {
		for at := 0; at < len(all); {
			without := slices.Delete(slices.Clone(all), at, min(at+size, len(all)))
			if fails(without) {
				all = without
			} else {
				at += size
			}
		}
	}
	return all
}
