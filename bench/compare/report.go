package main

import (
	"cmp"
	"fmt"
	"slices"
)

// info is where and when a result was measured.
type info struct {
	Date   string `json:"date"`
	GPU    string `json:"gpu"`
	Driver string `json:"driver"`
	Commit string `json:"commit"`
}

// report is a result as it is kept.
type report struct {
	info
	Incomplete []string `json:"incomplete,omitempty"` // what is missing; a kept result lacks nothing
	Cases      []entry  `json:"cases"`
}

// entry is a case. Its ratio, goal and met are those of the worst of its goals, by
// worst; goals has all of them.
type entry struct {
	Case  string          `json:"case"`
	Title string          `json:"title"`
	Sides map[string]stat `json:"sides"`
	Ratio *float64        `json:"ratio"` // null where there is no goal, or no value
	Goal  string          `json:"goal"`
	Met   *bool           `json:"met"`
	Goals []verdict       `json:"goals,omitempty"`
	Limit string          `json:"limit,omitempty"`

	order  []string // of the sides
	absent []string // of them, those whose part does not exist yet
}

// verdict is what came of a goal.
type verdict struct {
	Side  string   `json:"side"` // whose goal it is
	Ratio *float64 `json:"ratio"`
	Goal  string   `json:"goal"`
	Met   *bool    `json:"met"`
	Check bool     `json:"check,omitempty"` // of the opponent itself, no goal of ours

	short float64 // how many times the bound: above 1 the goal is missed
}

type stat struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Unit   string  `json:"unit"`
}

const (
	reported = "reported"
	notYet   = "not yet"
)

// judge makes a report of what was measured.
func judge(cases []benchCase, s *samples, m info) report {
	rep := report{info: m}
	for _, c := range cases {
		e := entry{Case: c.name, Title: c.title, Sides: map[string]stat{}, Goal: reported}
		for _, side := range c.sides {
			e.order = append(e.order, side)
			if v := present(s.of(c.name, side)); len(v) > 0 {
				e.Sides[side] = stat{median(v), slices.Min(v), slices.Max(v), s.unit(c.name, side)}
			}
		}
		e.order, e.absent = append(e.order, c.notYet...), c.notYet
		if len(c.sides) == 0 {
			e.Goal = notYet
		}
		if c.limit != nil {
			e.Limit = c.limit(s)
		}
		for _, g := range c.goals {
			v := verdict{Side: g.us, Goal: g.text(s.unit(c.name, g.us)), Check: g.check}
			if slices.Contains(c.notYet, g.us) {
				v.Goal += " (" + notYet + ")"
			} else if ratio, rounds := g.ratio(c.name, s); rounds > 0 {
				met := g.met(ratio)
				v.Ratio, v.Met, v.short = &ratio, &met, g.short(ratio)
			}
			e.Goals = append(e.Goals, v)
		}
		if w := worst(e.Goals); w != nil {
			e.Ratio, e.Goal, e.Met = w.Ratio, w.Goal, w.Met
		}
		rep.Cases = append(rep.Cases, e)
	}
	return rep
}

// worst is the goal that speaks for its case, nil where there is none: one that was
// missed, by the largest factor; else one that could not be judged; else the one that
// was met by the smallest. Checks of the opponent speak only where nothing else does.
func worst(goals []verdict) *verdict {
	var w *verdict
	for i := range goals {
		if g := &goals[i]; w == nil || g.worse(w) {
			w = g
		}
	}
	return w
}

func (v *verdict) worse(than *verdict) bool {
	return cmp.Or(cmp.Compare(v.rank(), than.rank()), cmp.Compare(v.short, than.short)) > 0
}

func (v *verdict) rank() (n int) {
	switch {
	case v.Met == nil:
		n = 1
	case !*v.Met:
		n = 2
	}
	if !v.Check {
		n += 3
	}
	return n
}

// tally counts the goals that were met, and those that could be judged: ours, or the
// checks of the opponent.
func (rep report) tally(checks bool) (met, all int) {
	for _, e := range rep.Cases {
		for _, g := range e.Goals {
			if g.Check != checks || g.Met == nil {
				continue
			}
			all++
			if *g.Met {
				met++
			}
		}
	}
	return met, all
}

// summary is the tally for people.
func (rep report) summary() string {
	met, all := rep.tally(false)
	text := fmt.Sprintf("%d of %d goals met", met, all)
	if met, all := rep.tally(true); all > 0 {
		text += fmt.Sprintf(", %d of %d checks of the baseline itself", met, all)
	}
	return text
}
