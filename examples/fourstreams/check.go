package main

import (
	"fmt"
	"slices"
)

// related are the two streams that the copy may order.
var related = []string{gpu1s1, gpu2s1}

// problems are what must not be: a wait that touches a stream which the copy has
// nothing to do with, a stream that nobody asked for, an event that is missing, or
// a wait that did not hold. seen are the streams that were given anything; slack is
// the error of the times, in ns.
func problems(events []event, edges []edge, seen []string, slack int64) []string {
	var p []string
	byName := map[string]event{}
	for _, e := range events {
		if _, twice := byName[e.Name]; twice {
			p = append(p, fmt.Sprintf("two events are called %q", e.Name))
		}
		byName[e.Name] = e
	}
	for _, name := range expected() {
		if _, ok := byName[name]; !ok {
			p = append(p, fmt.Sprintf("%q did not run", name))
		}
	}
	for _, s := range seen {
		if !slices.Contains(streams, s) {
			p = append(p, fmt.Sprintf("the library used a stream of its own, %s", s))
		}
	}
	for _, e := range edges {
		p = append(p, judge(e, byName, slack)...)
	}
	return p
}

// expected are the events of a whole run.
func expected() []string {
	names := []string{eventPrepare, eventUse, eventOwn, eventFill, eventCopy}
	for i := range busyKernels {
		names = append(names, fmt.Sprint(eventBusy, " ", i+1))
	}
	return names
}

// judge says what is wrong with a wait.
func judge(e edge, byName map[string]event, slack int64) []string {
	var p []string
	for _, s := range []string{e.From, e.To} {
		if !slices.Contains(related, s) {
			p = append(p, fmt.Sprintf("%s waited for %s, and %s has nothing to do with the copy (%s)", e.To, e.From, s, e.Why))
		}
	}
	after, okA := byName[e.After]
	before, okB := byName[e.Before]
	switch {
	case !okA || !okB || after.Stream != e.From || before.Stream != e.To:
		p = append(p, fmt.Sprintf("a wait of %s for %s belongs to no event: %q after %q (%s)", e.To, e.From, e.Before, e.After, e.Why))
	case before.Start < after.End-slack:
		p = append(p, fmt.Sprintf("%q began %d ns before %q had ended, in spite of a wait (%s)", e.Before, after.End-before.Start, e.After, e.Why))
	}
	return p
}

// beside lists the events of other streams that ran at the same time as some event
// of a stream.
func beside(events []event, stream string) []string {
	var names []string
	for _, e := range events {
		if e.Stream == stream {
			continue
		}
		for _, own := range events {
			if own.Stream == stream && own.Start < e.End && e.Start < own.End {
				names = append(names, e.Name)
				break
			}
		}
	}
	return names
}
