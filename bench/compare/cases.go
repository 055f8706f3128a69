package main

import (
	"fmt"
	"math"
)

// table is what is measured, and against what. A ratio is always ours by theirs.
func table() []benchCase {
	return concat(pipelines(), handoffs(), launches(), messages(), pulls(), copies(), memory(), crowds(), mainJob(), calls(), checks())
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

// twoLaunches is what the driver's launches of an item cost on one thread, and what
// an item costs that needs none.
func twoLaunches(s *samples) string {
	l, g := median(s.of("launch-empty", "c")), median(s.of("pipeline-4KiB-8", "c-graph"))
	if math.IsNaN(l) || math.IsNaN(g) {
		return "the driver's launches"
	}
	return fmt.Sprintf("2 launches: %s on one thread; as a graph %s", quantity(2*l, "ns"), quantity(g, "ns"))
}

// traffic is how long the memory takes for an item: it is written, read and written,
// where a copy inside the device reads and writes.
func traffic(bytes float64) func(*samples) string {
	return func(s *samples) string {
		copied := median(s.of("d2d-256MiB", "c"))
		if math.IsNaN(copied) {
			return "the memory's bandwidth"
		}
		return "the memory's bandwidth: " + quantity(1.5*bytes/copied, "ns")
	}
}

// before is a check of the opponent itself, which is slower than it should be where
// it is more than a tenth slower than what was measured before there was anything
// to compare it with, on an H200 with driver 580.
func before(us string, ns float64) goal { return goal{us: us, num: ns, bound: 1.10, check: true} }

func pipelines() []benchCase {
	cases := []benchCase{
		{
			name: "pipeline-4KiB-8", title: "producer → consumer, two streams, 8 in flight, per item",
			sides: []string{"c-one", "c-two", "c-graph", "go-threads", "go-colocated", "go-threads-alloc", "go-colocated-alloc", "torch", "torch-threads"},
			goals: []goal{
				atMost("go-threads", 1.00, "c-one"), atMost("go-threads", 1.10, "c-two"),
				times("go-threads", 6, "torch"), times("go-threads", 6, "torch-threads"),
				atMost("go-threads-alloc", 1.00, "c-one"), atMost("go-threads-alloc", 1.10, "c-two"),
				before("c-one", 10200), before("c-two", 7200), before("c-graph", 1220),
			},
			limit: twoLaunches,
		},
		{
			name: "pipeline-4KiB-1", title: "the same, one in flight, per item",
			sides: []string{"c-one", "c-two", "go-colocated", "go-latency", "go-balanced", "go-frugal"},
			goals: []goal{
				atMost("go-colocated", 1.00, "c-one"), atMost("go-colocated", 0.85, "c-two"),
				atMost("go-latency", 1.15, "c-two"),
				before("c-one", 10600), before("c-two", 13300),
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
		switch size {
		case "16MiB":
			c.limit = traffic(16 << 20)
		case "256MiB":
			c.limit = traffic(256 << 20)
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

func handoffs() []benchCase {
	one := func(name, title string, most float64, limit string) benchCase {
		return benchCase{name: name, title: title, sides: []string{"go"}, goals: []goal{absolute("go", most)}, limit: says(limit)}
	}
	return []benchCase{
		one("handoff-cpu", "hand-off between two actors on one thread, CPU time beyond the driver's calls", 250, "two switches of coroutines: 62 ns"),
		one("handoff-same-stream", "records and waits of a hand-off on the same stream", 0, "none"),
		one("handoff-records", "records of a hand-off to another stream, one submission each", 1, "none, where many leave in one submission"),
		one("handoff-waits", "waits of a hand-off to another stream", 1, "none, where a watermark covers it"),
		one("handoff-allocs", "Go allocations of a hand-off to another stream", 0.01, "none"),
		{name: "fan-out-16", title: "fan-out to 16 readers and back", notYet: []string{"c", "go"}},
	}
}

func messages() []benchCase {
	hot := goal{them: []string{"c-launch"}, plus: 1000, bound: 1}
	balanced, latency := hot, hot
	balanced.us, latency.us = "go-balanced", "go-latency"
	return []benchCase{
		{
			name: "message-hot", title: "message to an idle but hot actor on another thread → the launch's return, from the send",
			sides: []string{"c-launch", "go-balanced", "go-latency"}, goals: []goal{balanced, latency},
			limit: says("the launch's call, and a cache line from core to core"),
		},
		{
			name: "message-parked", title: "message to an actor that had nothing to do for 300 µs → its handler",
			sides: []string{"go-balanced", "go-latency", "go-frugal"},
			limit: says("waking a thread: about 15 µs"),
		},
		{
			name: "tell", title: "messages from a goroutine, each", sides: []string{"stock", "go"},
			goals: []goal{atMost("go", 1, "stock")}, limit: says("two cache lines from core to core"),
		},
		{
			name: "request", title: "request from a goroutine, and its answer", sides: []string{"stock", "go", "go-future"},
			goals: []goal{atMost("go", 1, "stock")}, limit: says("waking a thread and a goroutine"),
		},
		{
			name: "ping-pong", title: "two actors that answer each other, each message", sides: []string{"stock", "go-threads", "go-colocated"},
			goals: []goal{times("go-colocated", 10, "stock")}, limit: says("a switch of coroutines: 62 ns"),
		},
	}
}

func pulls() []benchCase {
	idle := goal{us: "go-idle", them: []string{"c"}, plus: 500, bound: 1}
	spinning := goal{us: "go-spinning", them: []string{"c"}, plus: 1000, bound: 1}
	return []benchCase{{
		name: "pull", title: "Pull of 4 KiB from another context of the GPU, CPU time, by the state of the source's actor",
		sides: []string{"c", "go-idle", "go-parked", "go-spinning"}, goals: []goal{idle, spinning},
		limit: says("the driver's peer copy on the source's stream"),
	}}
}

func copies() []benchCase {
	var cases []benchCase
	for _, way := range []struct{ name, title, limit string }{
		{"upload", "pinned memory → device", "PCIe 5.0 × 16: 63 GB/s before its packets' headers"},
		{"download", "device → pinned memory", "PCIe 5.0 × 16: 63 GB/s before its packets' headers"},
		{"d2d", "inside the device", "the memory's bandwidth, halved: each byte is read and written"},
	} {
		for i, size := range []string{"4KiB", "64KiB", "1MiB", "16MiB", "256MiB", "1GiB"} {
			c := benchCase{
				name: way.name + "-" + size, title: way.title + ", one after the other",
				sides: []string{"c", "go"}, limit: says(way.limit),
			}
			if i >= 3 {
				c.goals = []goal{atLeast("go", 0.99, "c")}
			}
			cases = append(cases, c)
		}
	}
	return append(cases,
		benchCase{
			name: "upload-slice-64MiB", title: "an ordinary slice → device, each until it is there",
			sides: []string{"c", "go"}, goals: []goal{atLeast("go", 0.90, "c")},
			limit: says("the cores' memcpy, or PCIe; C has one, overlapped with the copies"),
		},
		benchCase{
			name: "download-slice-64MiB", title: "device → an ordinary slice, and into a new one",
			sides: []string{"c", "go", "c-alloc", "go-alloc"},
			goals: []goal{atLeast("go", 0.90, "c"), atLeast("go-alloc", 0.90, "c-alloc")},
			limit: says("the cores' memcpy, or PCIe; new memory is also cleared"),
		},
	)
}

func memory() []benchCase {
	flat := func(size string) benchCase {
		return benchCase{
			name: "reserved-" + size, title: "device memory that a one-way pipeline takes from the driver once it is warm",
			sides: []string{"go"}, goals: []goal{absolute("go", 0)}, limit: says("none"),
		}
	}
	return []benchCase{
		{
			name: "alloc", title: "allocate and release 4 KiB in steady state, no driver call",
			sides: []string{"c", "go"}, goals: []goal{absolute("go", 60)},
			limit: says("no call: a few loads and stores"),
		},
		flat("4KiB"), flat("1MiB"),
	}
}

func crowds() []benchCase {
	return []benchCase{
		{
			name: "idle-100", title: "CPU time of the threads of 100 idle actors, of one core",
			sides: []string{"go-balanced", "go-latency", "go-frugal"},
			goals: []goal{absolute("go-balanced", 1), absolute("go-frugal", 0.1)}, limit: says("none"),
		},
		{
			name: "busy-10", title: "launches by 10 busy actors, alone and among 100",
			sides: []string{"go-alone", "go-among-100"}, goals: []goal{atLeast("go-among-100", 0.95, "go-alone")},
			limit: says("the driver's lock"),
		},
		{
			name: "thousand", title: "launches by 1,000 actors on 4 threads (C: 1,000 streams; 4 streams)",
			sides: []string{"c", "c-4", "go"}, goals: []goal{atLeast("go", 0.95, "c"), atLeast("go", 0.95, "c-4")},
			limit: says("the driver's lock"),
		},
		{name: "thousand-memory", title: "memory of a fresh process for each of 1,000 actors, with the driver's", sides: []string{"go-fresh"}},
	}
}

// mainJob is the simulator as a fallback, on the processor alone.
func mainJob() []benchCase {
	return []benchCase{{
		name: "main-job", title: "examples/producerconsumer on the simulator, and as a plain Go program",
		sides: []string{"plain", "go-sim"}, goals: []goal{atLeast("go-sim", 0.5, "plain")},
		limit: says("the plain program, and three copies more"),
	}}
}

// calls are the driver's single calls, of the baseline alone.
func calls() []benchCase {
	base := func(name, title string, ns float64) benchCase {
		return benchCase{name: name, title: title, sides: []string{"c"}, goals: []goal{before("c", ns)}}
	}
	return []benchCase{
		base("launch-empty", "launch of an empty kernel", 3500),
		base("record", "record of an event", 173),
		base("wait", "wait for an event", 159),
	}
}

// checks are what it costs to look on.
func checks() []benchCase {
	return []benchCase{{
		name: "handoff-check", title: "producer → consumer, 8 in flight, per item, without and with the race checker",
		sides: []string{"go", "go-race"},
	}}
}
