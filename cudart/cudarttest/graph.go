package cudarttest

import "github.com/gpuactor/gpuactor/cudart"

var graphChecks = []check{
	{"passes arguments by a graph", graphArguments},
	{"runs any shape by one graph", graphShapes},
	{"orders a graph's launch by events", graphOrder},
	{"refuses by a graph what it refuses without", graphRefused},
	{"launches by graphs on many streams at once", graphApart},
	{"makes a graph while the device works", graphWhileBusy},
}

// launchGraph makes a graph that lives as long as the check, or skips the check where
// the runtime has none.
func (q *queue) launchGraph(kernel string, args int) cudart.LaunchGraph {
	q.f.Helper()
	q.f.use(q.at)
	g, err := q.f.rt.InstantiateLaunch(q.at.ctx, q.at.functions[kernel], args)
	q.f.ok(err, "InstantiateLaunch")
	if g.Exec == 0 {
		q.f.Skip("the runtime launches without graphs")
	}
	q.f.graphs = append(q.f.graphs, ownGraph{q.at, g})
	return g
}

type ownGraph struct {
	at *place
	g  cudart.LaunchGraph
}

// graphArguments launches often without waiting: every launch has the arguments that
// it was given, and not those of a later one.
func graphArguments(f *fixture) {
	const n, rounds = 256, 100
	q, host := f.queue(f.main), f.words(n)
	g := q.launchGraph("add32", 3)
	p, other := q.alloc(4*n), q.alloc(4*n)
	q.fill32(p, 0, n)
	q.fill32(other, 0, n)
	want := uint32(0)
	for i := range uint32(rounds) {
		q.launchBy(g, "add32", n, inout(p, 4*n), u32(i*i), u32(n))
		q.launchBy(g, "add32", n, inout(other, 4*n), u32(1), u32(n))
		q.add32(p, 7, n)
		q.submit()
		want += i*i + 7
	}
	q.toHost(host, p)
	q.submit()
	q.sync()
	f.all(host, want)
	q.toHost(host, other)
	q.submit()
	q.sync()
	f.all(host, rounds)
}

func graphShapes(f *fixture) {
	q := f.queue(f.main)
	shapes(q, q.launchGraph("coords", 1))
}

// graphOrder hands a buffer back and forth: a launch by a graph waits as every launch
// does, and is waited for.
func graphOrder(f *fixture) {
	const n, rounds = 1024, 50
	a, b := f.queue(f.main), f.queue(f.main)
	there, back := f.event(f.main), f.event(f.main)
	host := f.words(n)
	ga, gb := a.launchGraph("add32", 3), b.launchGraph("add32", 3)
	p := a.alloc(4 * n)
	gate := f.gate()
	a.fill32(p, 0, n)
	gate.hold(a)
	for range rounds {
		a.launchBy(ga, "add32", n, inout(p, 4*n), u32(1), u32(n))
		a.record(there)
		a.submit()
		b.wait(there)
		b.launchBy(gb, "add32", n, inout(p, 4*n), u32(2), u32(n))
		b.record(back)
		b.submit()
		a.wait(back)
	}
	gate.open()
	a.toHost(host, p)
	a.submit()
	a.sync()
	f.all(host, 3*rounds)
}

func graphRefused(f *fixture) {
	q, host := f.queue(f.main), f.words(64)
	g := q.launchGraph("add32", 3)
	p := q.alloc(4 * 64)
	q.fill32(p, 0, 64)
	q.submit()
	for _, block := range []cudart.Dim3{{X: 2048, Y: 1, Z: 1}, {X: 0, Y: 1, Z: 1}} {
		q.append(q.list.LaunchBy(g, q.at.functions["add32"], cudart.Dim3{X: 1, Y: 1, Z: 1}, block, 0, inout(p, 4*64), u32(1), u32(64)))
		i, err := q.try()
		if i != 0 {
			f.Errorf("a block of %v: command %d refused, want 0", block, i)
		}
		f.refused(err, "a block that cannot be")
	}
	q.launchBy(g, "add32", 64, inout(p, 4*64), u32(5), u32(64))
	q.toHost(host, p)
	q.submit()
	q.sync()
	f.all(host, 5)
}

// graphApart holds all streams but one, by graphs, and wants to see that one done: a
// graph's launch waits in its own stream and for no other.
func graphApart(f *fixture) {
	const streams = 12
	qs := make([]*queue, streams)
	graphs := make([]cudart.LaunchGraph, streams)
	gates := make([]*gate, streams)
	open := f.words(1)
	open[0] = 1
	for i := range qs {
		qs[i] = f.queue(f.main)
		graphs[i] = qs[i].launchGraph("gate", 2)
		gates[i] = f.gate()
		qs[i].launchBy(graphs[i], "gate", 1, word(&open[0]), u64(uint64(f.gateLimit)))
		qs[i].submit() // the first launch by a graph may take what a later one finds
		qs[i].sync()
	}
	for i, q := range qs {
		gates[i].holdBy(q, graphs[i])
	}
	for i := streams - 1; i >= 0; i-- {
		gates[i].open()
		qs[i].sync()
	}
}

// graphWhileBusy makes a graph, and uses it, while another stream's kernel runs.
func graphWhileBusy(f *fixture) {
	const n = 64
	busy, q, host := f.queue(f.main), f.queue(f.main), f.words(n)
	p := q.alloc(4 * n)
	q.fill32(p, 0, n)
	q.submit()
	q.sync()
	gate := f.gate()
	gate.hold(busy)
	g := q.launchGraph("add32", 3)
	q.launchBy(g, "add32", n, inout(p, 4*n), u32(3), u32(n))
	q.toHost(host, p)
	q.submit()
	q.sync()
	f.all(host, 3)
	gate.open()
}
