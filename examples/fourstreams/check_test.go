package main

import (
	"slices"
	"strings"
	"testing"
)

// good is what a run shows where all is well.
func good() (events []event, edges []edge, seen []string, slack int64) {
	events = []event{
		{gpu1s1, eventPrepare, 0, 30}, {gpu1s1, eventUse, 60, 90},
		{gpu1s2, eventOwn, 5, 80},
		{gpu2s1, eventFill, 0, 40}, {gpu2s1, eventCopy, 41, 55},
		{gpu2s2, "gpu2s2 busy 1", 0, 20}, {gpu2s2, "gpu2s2 busy 2", 20, 40}, {gpu2s2, "gpu2s2 busy 3", 40, 58},
	}
	edges = []edge{
		{gpu1s1, gpu2s1, eventPrepare, eventCopy, "the destination"},
		{gpu2s1, gpu1s1, eventCopy, eventUse, "the copy"},
	}
	return events, edges, slices.Clone(streams), 0
}

func TestProblems(t *testing.T) {
	if p := problems(good()); len(p) > 0 {
		t.Fatalf("a good run has problems: %q", p)
	}
	for _, c := range []struct {
		name  string
		spoil func(events *[]event, edges *[]edge, seen *[]string)
		want  string
	}{
		{"an unrelated stream waits", func(_ *[]event, e *[]edge, _ *[]string) {
			*e = append(*e, edge{gpu2s1, gpu2s2, eventFill, "gpu2s2 busy 3", "why"})
		}, "gpu2s2 waited for gpu2s1, and gpu2s2 has nothing to do with the copy"},
		{"an unrelated stream is waited for", func(_ *[]event, e *[]edge, _ *[]string) {
			*e = append(*e, edge{gpu2s2, gpu2s1, "gpu2s2 busy 2", eventCopy, "why"})
		}, "gpu2s1 waited for gpu2s2, and gpu2s2 has nothing to do with the copy"},
		{"the other one", func(_ *[]event, e *[]edge, _ *[]string) {
			*e = append(*e, edge{gpu1s1, gpu1s2, eventPrepare, eventOwn, "why"})
		}, "gpu1s2 waited for gpu1s1, and gpu1s2 has nothing to do with the copy"},
		{"a stream of the library's own", func(_ *[]event, _ *[]edge, s *[]string) {
			*s = append(*s, "transfer-1")
		}, "the library used a stream of its own, transfer-1"},
		{"a wait that is at no event", func(_ *[]event, e *[]edge, _ *[]string) {
			*e = append(*e, edge{gpu2s1, gpu1s1, eventCopy, "", "why"})
		}, "belongs to no event"},
		{"a wait at another stream's event", func(_ *[]event, e *[]edge, _ *[]string) {
			(*e)[1].After = eventPrepare
		}, "belongs to no event"},
		{"a wait that did not hold", func(v *[]event, _ *[]edge, _ *[]string) {
			(*v)[1].Start = 50
		}, `"gpu1s1 use" began 5 ns before "copy" had ended`},
		{"a name given twice", func(v *[]event, _ *[]edge, _ *[]string) {
			(*v)[6].Name = "gpu2s2 busy 1"
		}, `two events are called "gpu2s2 busy 1"`},
		{"an event that is missing", func(v *[]event, _ *[]edge, _ *[]string) {
			*v = (*v)[:7]
		}, `"gpu2s2 busy 3" did not run`},
	} {
		events, edges, seen, slack := good()
		c.spoil(&events, &edges, &seen)
		p := problems(events, edges, seen, slack)
		if !slices.ContainsFunc(p, func(s string) bool { return strings.Contains(s, c.want) }) {
			t.Errorf("%s: problems %q, want %q", c.name, p, c.want)
		}
	}
}

// A wait holds where its times fail to show it by less than their error.
func TestSlack(t *testing.T) {
	events, edges, seen, _ := good()
	events[1].Start = 52
	if p := problems(events, edges, seen, 3); len(p) > 0 {
		t.Errorf("problems %q within the error of the times", p)
	}
	if p := problems(events, edges, seen, 2); len(p) != 1 {
		t.Errorf("problems %q beyond it", p)
	}
}

func TestBeside(t *testing.T) {
	events, _, _, _ := good()
	got := strings.Join(beside(events, gpu2s2), ", ")
	if want := "gpu1s1 prepare, gpu1s2 own, gpu2s1 fill, copy"; got != want {
		t.Errorf("beside gpu2s2 ran %q, want %q", got, want)
	}
}
