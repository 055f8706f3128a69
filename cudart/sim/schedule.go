package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// Schedule is what a clock chose, where that was not what the calmest device does. It
// can be printed, read again, and given to [Replay].
type Schedule struct {
	halves bool
	forced []choice // by place
}

type choice struct{ turn, nth, value int }

// Len is how many choices it forces.
func (s Schedule) Len() int { return len(s.forced) }

// String is short: "3.0=2" is that at turn 3 (a call of the host, or the end of one,
// from 1) the choice number 0 was 2.
func (s Schedule) String() string {
	words := make([]string, 0, 1+len(s.forced))
	if s.halves {
		words = append(words, "halves")
	}
	for _, c := range s.forced {
		words = append(words, fmt.Sprintf("%d.%d=%d", c.turn, c.nth, c.value))
	}
	if len(words) == 0 {
		return "calm"
	}
	return strings.Join(words, " ")
}

// ParseSchedule reads what [Schedule.String] printed.
func ParseSchedule(text string) (Schedule, error) {
	var s Schedule
	for _, w := range strings.Fields(text) {
		switch w {
		case "calm":
			continue
		case "halves":
			s.halves = true
			continue
		}
		var c choice
		place, value, ok := strings.Cut(w, "=")
		turn, nth, ok2 := strings.Cut(place, ".")
		var bad error
		for _, p := range []struct {
			text string
			to   *int
		}{{turn, &c.turn}, {nth, &c.nth}, {value, &c.value}} {
			n, err := strconv.Atoi(p.text)
			if err != nil || n < 0 {
				bad = err
				ok = false
			}
			*p.to = n
		}
		if !ok || !ok2 || len(s.forced) > 0 && !s.forced[len(s.forced)-1].before(c) {
			return Schedule{}, fmt.Errorf("sim: no schedule: %q (%v)", w, bad)
		}
		s.forced = append(s.forced, c)
	}
	return s, nil
}

func (c choice) before(d choice) bool {
	return c.turn < d.turn || c.turn == d.turn && c.nth < d.nth
}

func (s *Schedule) note(at place, i int) {
	if i != 0 {
		s.forced = append(s.forced, choice{at.turn, at.nth, i})
	}
}

// pick takes what is forced. A value that is not among the n is what is nearest, so
// that a schedule of which a part was left out still means something.
func (s Schedule) pick(_ *Steps, at place, n int) int {
	want := choice{at.turn, at.nth, 0}
	lo, hi := 0, len(s.forced)
	for lo < hi {
		mid := (lo + hi) / 2
		if s.forced[mid].before(want) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(s.forced) || want.before(s.forced[lo]) {
		return 0
	}
	return min(s.forced[lo].value, n-1)
}

// Schedule is what was chosen so far.
func (x *Steps) Schedule() Schedule {
	x.mu.Lock()
	defer x.mu.Unlock()
	return Schedule{x.halves, append([]choice(nil), x.taken.forced...)}
}
