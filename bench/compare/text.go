package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
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

// spread is the smallest and the largest value, with one unit where that does.
func (s stat) spread() string {
	low, high := quantity(s.Min, s.Unit), quantity(s.Max, s.Unit)
	if number, unit, _ := strings.Cut(low, " "); strings.HasSuffix(high, " "+unit) {
		low = number
	}
	return low + " – " + high
}

// text is the ratio, and whether the goal was met.
func (v verdict) text() (ratio, met string) {
	if v.Met == nil {
		return "", ""
	}
	ratio, met = fmt.Sprintf("%.3f", *v.Ratio), "NOT MET"
	if *v.Ratio >= 100 {
		ratio = short(*v.Ratio)
	}
	if *v.Met {
		met = "met"
	}
	return ratio, met
}

// printTable prints a block for each case: a row for each side, with the goals that
// are for it, and how far the machine allows to go.
func printTable(w io.Writer, rep report) error {
	if len(rep.Incomplete) > 0 {
		fmt.Fprintf(w, "INCOMPLETE: this is no result\n")
		for _, what := range rep.Incomplete {
			fmt.Fprintf(w, "  %s\n", what)
		}
	}
	fmt.Fprintf(w, "%s, driver %s, %s, commit %s\n", rep.GPU, rep.Driver, rep.Date, rep.Commit)
	fmt.Fprintf(w, "Of each side the median and the spread of the rounds; of its goals the ratio by round.\n")
	blocks := make([][][]string, len(rep.Cases))
	for i, e := range rep.Cases {
		blocks[i] = e.rows()
	}
	width := widths(blocks)
	for i, e := range rep.Cases {
		fmt.Fprintf(w, "\n%s: %s\n", e.Case, e.Title)
		for _, row := range blocks[i] {
			var line strings.Builder
			for k, cell := range row {
				line.WriteString("  " + cell + strings.Repeat(" ", width[k]-utf8.RuneCountInString(cell)))
			}
			fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
		}
		if e.Limit != "" {
			fmt.Fprintf(w, "  limit: %s\n", e.Limit)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", rep.summary())
	return err
}

// rows are the cells of a case: one row for each side, more where it has more goals.
func (e entry) rows() (rows [][]string) {
	if len(e.order) == 0 {
		return [][]string{{notYet}}
	}
	for _, side := range e.order {
		value, spread := e.value(side)
		row := []string{side, value, spread}
		for _, g := range e.Goals {
			if g.Side != side {
				continue
			}
			ratio, met := g.text()
			rows = append(rows, append(row, ratio, g.Goal, met))
			row = []string{"", "", ""}
		}
		if row[0] != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

// widths are those of the columns, in characters.
func widths(blocks [][][]string) (width [6]int) {
	for _, block := range blocks {
		for _, row := range block {
			for k, cell := range row {
				width[k] = max(width[k], utf8.RuneCountInString(cell))
			}
		}
	}
	return width
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
