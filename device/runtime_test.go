package device

import (
	"os"
	"sync"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	_ "github.com/gpuactor/gpuactor/cudart/nvidia"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// onDriver reports whether the tests run on the driver: GPUACTOR_RUNTIME=nvidia.
func onDriver() bool { return os.Getenv(cudart.Env) == "nvidia" }

// openRuntime is the runtime of a test: the driver, or a fresh simulator.
func openRuntime(t testing.TB) cudart.Runtime {
	t.Helper()
	if !onDriver() {
		return sim.New(sim.Config{})
	}
	rt, err := cudart.Open(cudart.Options{Name: "nvidia"})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// watched is a runtime that counts what it is asked, and refuses what it is told to.
type watched struct {
	cudart.Runtime

	mu      sync.Mutex
	counts  counts
	refuse  func(cudart.Command) bool
	noEvent bool // CreateEvent fails
	noAlloc bool // Alloc fails
	noGraph bool // InstantiateLaunch fails
	onSync  func(cudart.Context)
}

// counts are what a runtime was asked: commands by kind, and calls.
type counts struct {
	ops                              [cudart.OpFree + 1]int
	submits, queries, events, allocs int
	synchronised, refused            int
	graphs, destroyed, byGraph       int // graphs made, destroyed, and launches by one
}

func (w *watched) count(f func(*counts)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.counts)
}

// so far, and starts again.
func (w *watched) take() counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.counts
	w.counts = counts{}
	return c
}

func (w *watched) refuses(f func(cudart.Command) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = f
}

var errRefused = &cudart.Error{Code: cudart.ErrInvalidValue, Call: "test", Text: "refused by the test"}

// Submit refuses as [cudart.Runtime] says: effects behind are skipped, the rest runs.
func (w *watched) Submit(ctx cudart.Context, s cudart.Stream, l *cudart.List) (int, error) {
	w.mu.Lock()
	refuse := w.refuse
	w.counts.submits++
	w.mu.Unlock()
	i, refused := -1, -1
	kept := cudarttest.Without(w.Runtime, func(c cudart.Command) bool {
		i++
		switch {
		case refuse != nil && refuse(c):
			w.count(func(n *counts) { n.refused++ })
			if refused < 0 {
				refused = i
			}
			return true
		case refused >= 0 && c.Op.Effect():
			return true
		}
		w.count(func(n *counts) {
			n.ops[c.Op]++
			if c.By.Exec != 0 {
				n.byGraph++
			}
		})
		return false
	})
	if i, err := kept.Submit(ctx, s, l); err != nil || refused < 0 {
		return i, err
	}
	return refused, errRefused
}

func (w *watched) QueryEvent(e cudart.Event) (bool, error) {
	w.count(func(c *counts) { c.queries++ })
	return w.Runtime.QueryEvent(e)
}

func (w *watched) CreateEvent(ctx cudart.Context, timing bool) (cudart.Event, error) {
	w.count(func(c *counts) { c.events++ })
	if w.noEvent {
		return 0, errRefused
	}
	return w.Runtime.CreateEvent(ctx, timing)
}

func (w *watched) Alloc(ctx cudart.Context, p cudart.Pool, bytes uint64, s cudart.Stream) (cudart.DevicePtr, error) {
	w.count(func(c *counts) { c.allocs++ })
	if w.noAlloc {
		return 0, errRefused
	}
	return w.Runtime.Alloc(ctx, p, bytes, s)
}

func (w *watched) SynchronizeStream(ctx cudart.Context, s cudart.Stream) error {
	w.count(func(c *counts) { c.synchronised++ })
	return w.Runtime.SynchronizeStream(ctx, s)
}

func (w *watched) InstantiateLaunch(ctx cudart.Context, f cudart.Function, args int) (cudart.LaunchGraph, error) {
	w.count(func(c *counts) { c.graphs++ })
	if w.noGraph {
		return cudart.LaunchGraph{}, errRefused
	}
	return w.Runtime.InstantiateLaunch(ctx, f, args)
}

func (w *watched) DestroyLaunch(ctx cudart.Context, g cudart.LaunchGraph) error {
	w.count(func(c *counts) { c.destroyed++ })
	return w.Runtime.DestroyLaunch(ctx, g)
}

func (w *watched) SynchronizeContext(ctx cudart.Context) error {
	if w.onSync != nil {
		w.onSync(ctx)
	}
	return w.Runtime.SynchronizeContext(ctx)
}
