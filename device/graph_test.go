package device

import (
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

func TestByGraph(t *testing.T) {
	for _, c := range []struct {
		launched int
		working  int32
		want     bool
	}{
		{1, 0, false}, {graphAfter - 1, 1, false}, {graphAfter, 1, true}, {graphAfter, graphThreads, true},
		{graphAfter, graphThreads + 1, false}, {graphAfter, 100, false},
	} {
		if got := byGraph(c.launched, c.working); got != c.want {
			t.Errorf("byGraph(%d, %d) is %v, want %v", c.launched, c.working, got, c.want)
		}
	}
}

// A kernel that a stream launches often is launched by a graph of the stream's own;
// what it computes is the same, and the graph goes when the stream does.
func TestLaunchesByGraph(t *testing.T) {
	r := newRig(t, 0)
	d := r.devs[0]
	a, b := r.stream(d, "a"), r.stream(d, "b")
	r.ok(d.Load(module))
	x := wordsOf(r.alloc(a, 4096))
	r.fill(a, x, 0)
	r.sync(a)
	add := func(s *Stream, times int) {
		t.Helper()
		r.on(d)
		for range times {
			r.ok(s.Launch(1, add32, Linear(int(x.n)), x.arg(cudart.InOut), U32(3), U32(uint32(x.n))))
		}
		r.flush(s)
	}
	r.rt.take()
	add(a, graphAfter-1)
	if n := r.rt.take(); n.graphs != 0 || n.byGraph != 0 {
		t.Errorf("a graph too early: %+v", n)
	}
	add(a, 10)
	if n := r.rt.take(); n.graphs != 1 || n.byGraph != 10 {
		t.Errorf("%d graphs and %d launches by one, want 1 and 10", n.graphs, n.byGraph)
	}
	d.Working(graphThreads + 1)
	add(a, 10)
	if n := r.rt.take(); n.graphs != 0 || n.byGraph != 0 || n.ops[cudart.OpLaunch] != 10 {
		t.Errorf("by a graph beside many threads: %+v", n)
	}
	d.Working(-graphThreads - 1)
	add(a, 10)
	if n := r.rt.take(); n.graphs != 0 || n.byGraph != 10 {
		t.Errorf("%d graphs and %d launches by one, want 0 and 10", n.graphs, n.byGraph)
	}
	r.sync(a)
	add(b, graphAfter)
	if n := r.rt.take(); n.graphs != 1 || n.byGraph != 1 {
		t.Errorf("another stream: %d graphs and %d launches by one, want 1 and 1", n.graphs, n.byGraph)
	}
	if got, want := r.read(b, x), uint32(3*(2*graphAfter+29)); got[0] != want || got[len(got)-1] != want {
		t.Errorf("the words are %d and %d, want %d", got[0], got[len(got)-1], want)
	}
	r.rt.take()
	r.retire(a)
	d.retired.sweep(sweepAtOnce)
	if n := r.rt.take(); n.destroyed != 1 {
		t.Errorf("%d graphs destroyed with the stream, want 1", n.destroyed)
	}
}

// A graph that cannot be made is done without, and asked for once.
func TestNoGraph(t *testing.T) {
	r := newRig(t, 0)
	s := r.stream(r.devs[0], "s")
	r.ok(r.devs[0].Load(module))
	x := wordsOf(r.alloc(s, 4096))
	r.fill(s, x, 1)
	r.rt.noGraph = true
	r.rt.take()
	for range 2 * graphAfter {
		r.ok(s.Launch(1, add32, Linear(int(x.n)), x.arg(cudart.InOut), U32(1), U32(uint32(x.n))))
	}
	r.sync(s)
	if n := r.rt.take(); n.graphs != 1 || n.byGraph != 0 {
		t.Errorf("asked for %d graphs, %d launches by one; want 1 and 0", n.graphs, n.byGraph)
	}
	if got := r.read(s, x); got[0] != 1+2*graphAfter {
		t.Errorf("the words are %d, want %d", got[0], 1+2*graphAfter)
	}
}

// More kernels than a stream has places for: none launches another, and those that
// found no place are launched as ever.
func TestGraphsOfManyKernels(t *testing.T) {
	r := newRig(t, 0)
	s := r.stream(r.devs[0], "s")
	m := NewModule(module.image)
	kernels := make([]*Kernel, 2*graphSlots+2)
	for i := range kernels {
		if i%2 == 0 {
			kernels[i] = m.Kernel("fill32", Out[uint32](), Scalar[uint32](), Scalar[uint32]())
		} else {
			kernels[i] = m.Kernel("add32", InOut[uint32](), Scalar[uint32](), Scalar[uint32]())
		}
	}
	r.ok(r.devs[0].Load(m))
	x := wordsOf(r.alloc(s, 4096))
	r.rt.take()
	launch := func(k *Kernel, v uint32) {
		t.Helper()
		access := cudart.InOut
		if k.name == "fill32" {
			access = cudart.Out
		}
		r.ok(s.Launch(1, k, Linear(int(x.n)), x.arg(access), U32(v), U32(uint32(x.n))))
	}
	for round := range uint32(graphAfter + 5) {
		for i := 0; i < len(kernels); i += 2 {
			launch(kernels[i], round+uint32(i))
			launch(kernels[i+1], 5)
			if round < graphAfter && round > 1 {
				continue
			}
			if got := r.read(s, x)[0]; got != round+uint32(i)+5 {
				t.Fatalf("kernels %d and %d, round %d: %d, want %d", i, i+1, round, got, round+uint32(i)+5)
			}
		}
	}
	r.sync(s)
	// One of the places is that of the kernel by which the test reads.
	if n := r.rt.take(); n.graphs != graphSlots || n.byGraph < 6*(graphSlots-1) {
		t.Errorf("%d graphs made and %d launches by one, for %d places", n.graphs, n.byGraph, graphSlots)
	}
}
