package main

import "fmt"

// table is what is measured, and against what. A ratio is always ours by theirs.
func table() []benchCase {
	return concat(pipelines(), launches(), calls())
}

func concat(parts ...[]benchCase) (all []benchCase) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func atMost(us string, bound float64, them ...string) goal {
	return goal{us: us, them: them, bound: bound}
}

func atLeast(us string, bound float64, them ...string) goal {
	return goal{us: us, them: them, bound: bound, least: true}
}

// times is "n times as good as".
func times(us string, n float64, them string) goal {
	return goal{us: us, them: []string{them}, bound: n, least: true, times: true}
}

// absolute is a limit that does not depend on anybody else.
func absolute(us string, most float64) goal { return goal{us: us, num: most, bound: 1} }

// says is a limit that does not depend on the run.
func says(text string) func(*samples) string { return func(*samples) string { return text } }

// twoLaunches is what the driver's launches of an item cost on one thread.
func twoLaunches(s *samples) string {
	l := median(s.of("launch-empty", "c"))
	return fmt.Sprintf("2 launches: %s on one thread, half of that on two", quantity(2*l, "ns"))
}

func pipelines() []benchCase {
	cases := []benchCase{
		{
			name: "pipeline-4KiB-8", title: "producer → consumer, two streams, 8 in flight, per item",
			sides: []string{"c-one", "c-two", "c-graph", "go-threads", "go-colocated", "go-threads-alloc", "go-colocated-alloc", "torch"},
			goals: []goal{
				atMost("go-threads", 1.00, "c-one"), atMost("go-threads", 1.10, "c-two"),
				times("go-threads", 6, "torch"),
				atMost("go-threads-alloc", 1.00, "c-one"), atMost("go-threads-alloc", 1.10, "c-two"),
			},
			limit: twoLaunches,
		},
		{
			name: "pipeline-4KiB-1", title: "the same, one in flight, per item",
			sides: []string{"c-one", "c-two", "go-colocated", "go-latency", "go-balanced", "go-frugal"},
			goals: []goal{
				atMost("go-colocated", 1.00, "c-one"), atMost("go-colocated", 0.85, "c-two"),
				atMost("go-latency", 1.15, "c-two"),
			},
			limit: says("two hops of the GPU from stream to stream"),
		},
	}
	for _, size := range []string{"64KiB", "1MiB", "16MiB", "256MiB"} {
		c := benchCase{
			name: "pipeline-" + size + "-8", title: "producer → consumer, 8 in flight, per item",
			sides: []string{"c-one", "c-two", "go-threads", "go-colocated"},
			limit: twoLaunches,
		}
		if size != "64KiB" {
			c.goals = []goal{atMost("go-threads", 1.02, "c-one", "c-two")}
		}
		if size == "16MiB" || size == "256MiB" {
			c.limit = says("one write, one read and one write of the item by the memory's bandwidth")
		}
		cases = append(cases, c)
	}
	return cases
}

func launches() []benchCase {
	var cases []benchCase
	for _, n := range []int{1, 2, 4, 8, 16} {
		cases = append(cases, benchCase{
			name: fmt.Sprintf("launches-%d", n), title: fmt.Sprintf("launches by %d actors at once, aggregate", n),
			sides: []string{"c", "go"},
			goals: []goal{atLeast("go", 0.95, "c")},
			limit: says("the driver's lock"),
		})
	}
	return append(cases, benchCase{
		name: "known", title: "launch → the host knows that it finished",
		sides: []string{"c-poll", "c-sync", "go-balanced", "go-latency", "go-frugal"},
		goals: []goal{atMost("go-balanced", 1.10, "c-poll"), atMost("go-latency", 1.10, "c-poll")},
		limit: says("the launch's way to the GPU and back"),
	})
}

// calls are single calls. What the baseline's own cost was measured before this
// program was written: the opponent is slower than it should be where it misses.
func calls() []benchCase {
	base := func(name, title string, before float64) benchCase {
		return benchCase{name: name, title: title + " (of the baseline: a check)", sides: []string{"c"},
			goals: []goal{{us: "c", num: before, bound: 1.10}}}
	}
	return []benchCase{
		base("launch-empty", "launch of an empty kernel", 3500),
		base("record", "record of an event", 173),
		base("wait", "wait for an event", 159),
		{
			name: "alloc", title: "allocate and release 4 KiB in steady state, no driver call, reserved memory flat",
			sides: []string{"c", "go"},
			goals: []goal{absolute("go", 60)},
			limit: says("no call: a few loads and stores"),
		},
	}
}
