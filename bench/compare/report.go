package main

import "slices"

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

// entry is a case with one of its goals.
type entry struct {
	Case  string          `json:"case"`
	Title string          `json:"title"`
	Sides map[string]stat `json:"sides"`
	Ratio *float64        `json:"ratio"` // null where there is no goal, or no value
	Goal  string          `json:"goal"`
	Met   *bool           `json:"met"`
	Limit string          `json:"limit,omitempty"`

	us     string
	order  []string // of the sides
	absent []string // of them, those whose part does not exist yet
	first  bool     // of the case's entries
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
		e := entry{Case: c.name, Title: c.title, Sides: map[string]stat{}, Goal: reported, first: true}
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
		if len(c.goals) == 0 {
			rep.Cases = append(rep.Cases, e)
		}
		for _, g := range c.goals {
			e.us, e.Goal, e.Ratio, e.Met = g.us, g.text(s.unit(c.name, g.us)), nil, nil
			if slices.Contains(c.notYet, g.us) {
				e.Goal += " (" + notYet + ")"
			} else if ratio, rounds := g.ratio(c.name, s); rounds > 0 {
				met := g.met(ratio)
				e.Ratio, e.Met = &ratio, &met
			}
			rep.Cases = append(rep.Cases, e)
			e.first = false
		}
	}
	return rep
}
