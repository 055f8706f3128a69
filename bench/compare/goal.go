package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// benchCase is one thing that is measured, by all who do it.
type benchCase struct {
	name   string
	title  string
	sides  []string
	notYet []string // sides whose part does not exist yet
	goals  []goal
	limit  func(*samples) string // how far it can go
}

// goal is what a side has to reach against others.
type goal struct {
	us   string
	them []string // the best of these; "CASE/SIDE" for a side of another case; none: the number const
	num  float64  // the opponent, where there are no sides
	plus float64  // what is allowed on top of the opponent, in its unit

	least bool // the ratio shall be at least bound, else at most
	times bool // the ratio is how many times we are better: them / us
	bound float64
	check bool // of the opponent itself: no goal of ours
}

// met decides.
func (g goal) met(ratio float64) bool {
	if g.least {
		return ratio >= g.bound
	}
	if len(g.them) == 0 && g.num == 0 {
		return ratio <= 0
	}
	return ratio <= g.bound
}

// short is how many times its bound a ratio is: above 1 the goal is missed.
func (g goal) short(ratio float64) float64 {
	switch {
	case g.least:
		return g.bound / ratio
	case len(g.them) == 0 && g.num == 0: // there is no bound to divide by
		return 1 + ratio
	}
	return ratio / g.bound
}

// text is the goal for people; its numbers are in the side's unit.
func (g goal) text(unit string) string {
	sign := "≤"
	if g.least {
		sign = "≥"
	}
	if len(g.them) == 0 {
		if g.bound != 1 {
			return fmt.Sprintf("%s %.2f × %s", sign, g.bound, quantity(g.num, unit))
		}
		return fmt.Sprintf("%s %s", sign, quantity(g.num, unit))
	}
	them := strings.Join(g.them, ", ")
	if len(g.them) > 1 {
		them = "best of " + them
	}
	if g.plus != 0 {
		them = fmt.Sprintf("(%s + %s)", them, quantity(g.plus, unit))
	}
	if g.times {
		return fmt.Sprintf("%s %s × as good as %s", sign, short(g.bound), them)
	}
	return fmt.Sprintf("%s %.2f × %s", sign, g.bound, them)
}

// lower reports whether less of a unit is better.
func lower(unit string) bool { return unit != "M/s" && unit != "GB/s" }

// ratio is the median of the per-round ratios, and how many rounds had one.
func (g goal) ratio(name string, s *samples) (float64, int) {
	us := s.of(name, g.us)
	them := make([]float64, len(us))
	for i := range them {
		them[i] = g.num
	}
	if len(g.them) > 0 {
		var all [][]float64
		for _, t := range g.them {
			other, side, found := strings.Cut(t, "/")
			if !found {
				other, side = name, t
			}
			all = append(all, s.of(other, side))
		}
		best := math.Max
		if lower(s.unit(name, g.us)) {
			best = math.Min
		}
		them = combine(all, best)
	}
	if len(g.them) == 0 && g.num == 0 {
		return median(us), len(present(us)) // there is nothing to divide by
	}
	them = slices.Clone(them)
	for i := range them {
		them[i] += g.plus
	}
	r := ratios(us, them)
	if g.times {
		r = ratios(them, us)
	}
	return median(r), len(r)
}
