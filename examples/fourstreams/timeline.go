package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"golang.org/x/term"
)

// The timeline: a label, and columns behind it, as many as there is room for.
const (
	labelWidth   = 8
	leastColumns = 40
	mostColumns  = 90
)

// widthOf is the width of a terminal in characters; anything else has no limit.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return math.MaxInt
}

// writeTimeline draws the streams, and says in words who waited for whom, in lines
// of width characters where that is possible.
func (r *report) writeTimeline(w io.Writer, width int) error {
	columns := min(max(width-labelWidth, leastColumns), mostColumns)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: gpu1 is %s, gpu2 is %s\n", r.Runtime, r.Devices[0], r.Devices[1])
	if r.oneGPU {
		b.WriteString(wrap(0, strings.Fields("Both are contexts of one GPU. Hardware lets contexts take turns: this shows order, not speed."), columns))
	}
	b.WriteString("\n")
	b.WriteString(gantt(r.Events, r.Edges, columns))
	b.WriteString("\n" + table(r.Events, r.Edges))
	b.WriteString("\n" + whoWaited(r.Events, r.Edges, columns))
	b.WriteString("\n" + r.clockText(columns))
	_, err := io.WriteString(w, b.String())
	return err
}

// gantt draws a line for each stream: [event====], and dots where the next event of
// the stream waited for another stream.
func gantt(events []event, edges []edge, columns int) string {
	var last int64 = 1
	for _, e := range events {
		last = max(last, e.End)
	}
	waited := map[string]bool{}
	for _, e := range edges {
		waited[e.Before] = true
	}
	var b strings.Builder
	b.WriteString(axis(last, columns))
	for _, s := range streams {
		line := []rune(strings.Repeat(" ", columns))
		free := 0 // where the stream's last event ended
		for _, e := range events {
			if e.Stream != s {
				continue
			}
			from, to := column(e.Start, last, columns), column(e.End, last, columns)
			from = max(from, free)
			if waited[e.Name] {
				for i := free; i < from; i++ {
					line[i] = '.'
				}
			}
			free = draw(line, from, to, strings.TrimPrefix(e.Name, s+" "))
		}
		fmt.Fprintf(&b, "%-*s%s\n", labelWidth, s, strings.TrimRight(string(line), " "))
	}
	b.WriteString(strings.Repeat(" ", labelWidth) + "[name===] ran     .... waited for another stream\n")
	return b.String()
}

// column is where a time lies, with last at the end of the line.
func column(t, last int64, columns int) int { return int(t * int64(columns) / last) }

// draw draws an event from one column to another, at least one wide, and returns
// where it ends. What does not fit of its name is left out.
func draw(line []rune, from, to int, name string) int {
	from = min(from, len(line)-1)
	to = min(max(to, from+1), len(line))
	if to-from == 1 {
		line[from] = '|'
		return to
	}
	for i := from; i < to; i++ {
		line[i] = '='
	}
	line[from], line[to-1] = '[', ']'
	copy(line[from+1:to-1], []rune(name))
	return to
}

// axis names round times, at most one in nine columns.
func axis(last int64, columns int) string {
	unit := round125(last, int64(columns/9))
	line := []rune(fmt.Sprintf("%-*s", labelWidth, "ms") + strings.Repeat(" ", columns))
	for t := int64(0); t <= last; t += unit {
		at, text := labelWidth+column(t, last, columns), fmt.Sprintf("%g", float64(t)/1e6)
		if at+len(text) <= len(line) {
			copy(line[at:], []rune(text))
		}
	}
	return strings.TrimRight(string(line), " ") + "\n"
}

// round125 is the least of 1, 2, 5, 10, 20 … that goes into last so many times at most.
func round125(last, times int64) int64 {
	for unit := int64(1); ; unit *= 10 {
		for _, m := range []int64{1, 2, 5} {
			if last/(unit*m) <= times {
				return unit * m
			}
		}
	}
}

// table lists the events with their times.
func table(events []event, edges []edge) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-15s %9s %9s   %s\n", "event", "start ms", "end ms", "had to wait for")
	for _, e := range events {
		var waits []string
		for _, w := range edges {
			if w.Before == e.Name {
				waits = append(waits, w.After)
			}
		}
		line := fmt.Sprintf("%-15s %9.3f %9.3f   %s", e.Name, float64(e.Start)/1e6, float64(e.End)/1e6, strings.Join(waits, ", "))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}
