package main

import (
	"slices"
	"testing"
)

func TestEdgesOf(t *testing.T) {
	commands := []command{
		{"a", "a1", place{1, 1}},
		{"a", "", place{2, 2}}, // no event
		{"a", "a2", place{3, 4}},
		{"b", "b1", place{1, 3}},
		{"b", "b2", place{2, 6}},
		// Issued first and submitted later than what was put in on its behalf.
		{"c", "c2", place{9, 7}},
		{"c", "c1", place{4, 8}},
	}
	for _, c := range []struct {
		name          string
		wait          wait
		after, before string
	}{
		{"up to a submission", wait{"b", place{2, 5}, "a", 1, ""}, "a1", "b2"},
		{"up to one without an event", wait{"b", place{2, 5}, "a", 2, ""}, "a1", "b2"},
		{"up to all of a submission", wait{"b", place{2, 5}, "a", 3, ""}, "a2", "b2"},
		{"between two commands of a submission", wait{"a", place{1, 0}, "b", 1, ""}, "b1", "a1"},
		{"behind the last one", wait{"b", place{2, 9}, "a", 1, ""}, "a1", ""},
		{"before the first one", wait{"b", place{1, 0}, "a", 0, ""}, "", "b1"},
		{"submissions decide, not the order of issue", wait{"c", place{2, 9}, "a", 1, ""}, "a1", "c1"},
		{"the same for what is waited for", wait{"b", place{1, 0}, "c", 9, ""}, "c2", "b1"},
		{"and up to what came before", wait{"b", place{1, 0}, "c", 8, ""}, "c1", "b1"},
	} {
		c.wait.why = "why"
		got := edgesOf(commands, []wait{c.wait})
		want := []edge{{c.wait.from, c.wait.stream, c.after, c.before, "why"}}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, want)
		}
	}
}
