package sim

import "slices"

// Shrink looks for a schedule that forces fewer choices and still makes a program
// fail. fails runs the program on a machine with the clock that it is given, and
// reports whether it failed. Where s itself does not fail, it comes back as it is.
func Shrink(s Schedule, fails func(c *Steps) bool) Schedule {
	left := 2000 // runs
	try := func(forced []choice) bool {
		left--
		if left < 0 || !fails(Replay(Schedule{s.halves, forced})) {
			return false
		}
		s.forced = forced
		return true
	}
	if !try(s.forced) {
		return s
	}
	for size := len(s.forced); size > 0; {
		fewer := false
		for to := len(s.forced); to > 0; to -= size { // what is late rests on what is early
			from := max(to-size, 0)
			fewer = try(slices.Concat(s.forced[:from], s.forced[to:])) || fewer
		}
		if !fewer || size > 1 {
			size /= 2
		}
		size = min(size, len(s.forced))
	}
	for i := range s.forced { // how something is torn is a large number: a small one may do
		for v := 1; v <= 8 && s.forced[i].value > 8; v++ {
			simpler := slices.Clone(s.forced)
			simpler[i].value = v
			try(simpler)
		}
	}
	return s
}
