package actortest

import (
	"slices"
	"testing"

	"github.com/gpuactor/gpuactor/cudart/sim"
	"strings"
)

// attempts is how many schedules are tried for a shorter one.
const attempts = 400

// shrink finds a short schedule that fails: it leaves out what it can of what was
// chosen. Nil is that the choices alone do not fail again.
func (c Config) shrink(t *testing.T, f Func, o *Outcome) *Outcome {
	t.Helper()
	left := attempts
	var best *Outcome
	try := func(actors, device []string) bool {
		if left--; left < 0 {
			return false
		}
		s, err := ParseSchedule(strings.Join(actors, " ") + " | " + strings.Join(device, " "))
		if err != nil {
			return false
		}
		again := c.Replay(t, s, f)
		if again.failed {
			again.Seed, again.Schedule = o.Seed, s
			best = again
		}
		return again.failed
	}
	actors, device := o.Schedule.actors(), words(o.Schedule.device)
	if !try(actors, device) {
		return nil
	}
	for {
		before := len(actors) + len(device)
		device = fewer(device, func(some []string) bool { return try(actors, some) })
		actors = fewer(actors, func(some []string) bool { return try(some, device) })
		if left < 0 || len(actors)+len(device) == before {
			return best
		}
	}
}

func words(s sim.Schedule) []string {
	if s.Len() == 0 {
		return nil
	}
	return strings.Fields(s.String())
}

// fewer leaves out what fails can do without, in ever smaller pieces.
func fewer(all []string, fails func([]string) bool) []string {
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
