package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// The timeline: a label, and columns behind it.
const (
	labelWidth = 8
	columns    = 90
)

// writeTimeline draws the streams, and says in words who waited for whom.
func (r *report) writeTimeline(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: gpu1 is %s, gpu2 is %s\n", r.Runtime, r.Devices[0], r.Devices[1])
	if r.oneGPU {
		b.WriteString("Both are contexts of one GPU. Hardware lets contexts take turns: this shows order, not speed.\n")
	}
	b.WriteString("\n")
	b.WriteString(gantt(r.Events, r.Edges))
	b.WriteString("\n" + table(r.Events, r.Edges))
	b.WriteString("\n" + whoWaited(r.Events, r.Edges))
	b.WriteString("\n" + r.clockText())
	_, err := io.WriteString(w, b.String())
	return err
}

// gantt draws a line for each stream: [event====], and dots where the next event of
// the stream waited for another stream.
func gantt(events []event, edges []edge) string {
	var last int64 = 1
	for _, e := range events {
		last = max(last, e.End)
	}
	waited := map[string]bool{}
	for _, e := range edges {
		waited[e.Before] = true
	}
	var b strings.Builder
	b.WriteString(axis(last))
	for _, s := range streams {
		line := []rune(strings.Repeat(" ", columns))
		free := 0 // where the stream's last event ended
		for _, e := range events {
			if e.Stream != s {
				continue
			}
			from, to := column(e.Start, last), column(e.End, last)
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
func column(t, last int64) int { return int(t * columns / last) }

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

// axis names round times, at most ten of them.
func axis(last int64) string {
	unit := round125(last)
	line := []rune(fmt.Sprintf("%-*s", labelWidth, "ms") + strings.Repeat(" ", columns))
	for t := int64(0); t <= last; t += unit {
		at, text := labelWidth+column(t, last), fmt.Sprintf("%g", float64(t)/1e6)
		if at+len(text) <= len(line) {
			copy(line[at:], []rune(text))
		}
	}
	return strings.TrimRight(string(line), " ") + "\n"
}

// round125 is the least of 1, 2, 5, 10, 20 … that goes into last ten times at most.
func round125(last int64) int64 {
	for unit := int64(1); ; unit *= 10 {
		for _, m := range []int64{1, 2, 5} {
			if last/(unit*m) <= 10 {
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

// whoWaited says for each stream whom it waited for, and what ran beside it.
func whoWaited(events []event, edges []edge) string {
	var b strings.Builder
	for _, s := range streams {
		var whom []string
		for _, e := range edges {
			if e.To == s {
				whom = append(whom, fmt.Sprintf("%s: %q came after %q\n        (%s)", e.From, e.Before, e.After, e.Why))
			}
		}
		if whom == nil {
			whom = []string{"nobody"}
		}
		fmt.Fprintf(&b, "%s waited for %s\n", s, strings.Join(whom, "\n        and for "))
		if !slices.Contains(related, s) {
			b.WriteString(wrap("beside it ran:", beside(events, s)))
		}
	}
	return b.String()
}

// wrap writes a list behind its title, indented, in lines that fit.
func wrap(title string, list []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%*s%s", labelWidth, "", title)
	at := labelWidth + len(title)
	for i, item := range list {
		if i < len(list)-1 {
			item += ","
		}
		if at+1+len(item) > labelWidth+columns {
			fmt.Fprintf(&b, "\n%*s", labelWidth-1, "")
			at = labelWidth - 1
		}
		b.WriteString(" " + item)
		at += 1 + len(item)
	}
	return b.String() + "\n"
}

// clockText says on which clock the times are, and their error.
func (r *report) clockText() string {
	return fmt.Sprintf(`clock: %s, read by each kernel when it begins and when it ends; its step is %v.
The times of the two GPUs compare to within %v (each was compared with the host's clock).
Those of the copy are of two timed events around it; they compare with its GPU's to within %v.
`, r.Clock.Source, time.Duration(r.Clock.Step), time.Duration(r.deviceError), time.Duration(r.copyError))
}
