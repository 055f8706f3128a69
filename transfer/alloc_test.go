package transfer

import (
	"os"
	"runtime"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart/check"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// A warm pull allocates nothing, in the whole process: neither the hand-off, nor the
// message, nor the memory, nor the simulator that stands below.
func TestAWarmPullAllocatesNothing(t *testing.T) {
	if raceEnabled || os.Getenv(check.Env) != "" {
		t.Skip("race detectors allocate")
	}
	rt := openRuntime(t, sim.Config{}) // without the rig's account of edges, which allocates
	opts := []actor.Option{actor.WithOpenRuntime(rt)}
	if onDriver() {
		opts = append(opts, actor.WithVirtual(2))
	}
	sys, err := actor.NewSystem(opts...)
	if err != nil {
		t.Fatal(err)
	}
	// Several windows of as many pulls: the events and blocks that there are grow to
	// what the GPU's delay asks for, and in the best window nothing grows.
	const windows, count, n = 5, 2000, 64
	items, back := actor.NewChan[Buf](4), actor.NewChan[bool](4)
	var at [windows + 1]uint64
	g := sys.Group(t.Context())
	g.Go("source", sys.Device(0), func(s *actor.Stream) error {
		for i := range windows * count {
			b, err := buffer.New[uint32](s, n)
			if err != nil {
				return err
			}
			if err := fill(s, b, uint32(i)); err != nil {
				return err
			}
			if err := items.Send(s, b); err != nil {
				return err
			}
			if _, err := back.Recv(s); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go("destination", sys.Device(1), func(s *actor.Stream) error {
		for i := range windows * count {
			if i%count == 0 {
				at[i/count] = mallocs()
			}
			far, err := items.Recv(s)
			if err != nil {
				return err
			}
			b, err := Pull(s, far)
			if err != nil {
				return err
			}
			if err := b.Release(s); err != nil {
				return err
			}
			if err := back.Send(s, true); err != nil {
				return err
			}
		}
		at[windows] = mallocs()
		return nil
	})
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := sys.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
	best := at[1] - at[0]
	for i := range windows {
		best = min(best, at[i+1]-at[i])
	}
	if best > count/20 { // a few are the Go runtime's own
		t.Errorf("%d allocations for %d pulls, at best", best, count)
	}
}

// mallocs is how many allocations the process has made.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
