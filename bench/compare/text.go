package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"
)

// short is a number with three digits that count.
func short(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1000 || v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// quantity is a value in a unit that people read.
func quantity(v float64, unit string) string {
	if unit == "ns" && v >= 1000 {
		return short(v/1000) + " µs"
	}
	return short(v) + " " + unit
}

func (s stat) spread() string {
	return quantity(s.Min, s.Unit) + " – " + quantity(s.Max, s.Unit)
}

// verdict is the ratio, and whether the goal was met.
func (e entry) verdict() (ratio, met string) {
	switch {
	case e.Met == nil:
		return "", ""
	case *e.Met:
		return fmt.Sprintf("%.3f", *e.Ratio), "met"
	}
	return fmt.Sprintf("%.3f", *e.Ratio), "NOT MET"
}

// printTable prints one row for each side of each case, and a goal in the row of the
// side that it is for.
func printTable(w io.Writer, rep report) error {
	if len(rep.Incomplete) > 0 {
		fmt.Fprintf(w, "INCOMPLETE: this is no result\n")
		for _, what := range rep.Incomplete {
			fmt.Fprintf(w, "  %s\n", what)
		}
	}
	fmt.Fprintf(w, "%s, driver %s, %s, commit %s\n\n", rep.GPU, rep.Driver, rep.Date, rep.Commit)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "case\tside\tmedian\tspread\tratio\tgoal\tmet\tlimit")
	for i, e := range rep.Cases {
		if e.first {
			printCase(t, rep.Cases[i:])
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, e := range rep.Cases {
		if e.first {
			fmt.Fprintf(w, "%s: %s\n", e.Case, e.Title)
		}
	}
	met, all := tally(rep)
	_, err := fmt.Fprintf(w, "\n%d of %d goals met\n", met, all)
	return err
}

// printCase prints the case that entries begin with.
func printCase(t io.Writer, entries []entry) {
	e := entries[0]
	name, limit := e.Case, e.Limit
	row := func(side, value, spread, ratio, goal, met string) {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, side, value, spread, ratio, goal, met, limit)
		name, limit = "", ""
	}
	if len(e.order) == 0 {
		row("", notYet, "", "", "", "")
	}
	for _, side := range e.order {
		value, spread := e.value(side)
		shown := side
		for i := 0; i < len(entries) && (i == 0 || !entries[i].first); i++ {
			if g := entries[i]; g.us == side {
				ratio, met := g.verdict()
				row(shown, value, spread, ratio, g.Goal, met)
				shown, value, spread = "", "", ""
			}
		}
		if shown != "" {
			row(shown, value, spread, "", "", "")
		}
	}
}

// value is what a side's row says.
func (e entry) value(side string) (value, spread string) {
	s, ok := e.Sides[side]
	switch {
	case ok:
		return quantity(s.Median, s.Unit), s.spread()
	case slices.Contains(e.absent, side):
		return notYet, ""
	}
	return "failed", ""
}

// tally is how many goals were met, of how many that could be judged.
func tally(rep report) (met, all int) {
	for _, e := range rep.Cases {
		if e.Met == nil {
			continue
		}
		all++
		if *e.Met {
			met++
		}
	}
	return met, all
}
