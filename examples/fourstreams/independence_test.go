package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// quick is a plan for tests; each kind of work has a time of its own, by which a
// kernel tells what it is.
var quick = plan{
	elements: 10_000,
	prepare:  1 * time.Millisecond,
	fill:     2 * time.Millisecond,
	use:      3 * time.Millisecond,
	own:      4 * time.Millisecond,
	busy:     5 * time.Millisecond,
}

// patience bounds a test in which a stream waits for what it must not wait for.
const patience = 20 * time.Second

// altered are the kernels with one of the Go functions replaced, for the simulator.
func altered(name string, f cudart.GoKernel) kernels {
	i := image()
	i.Go[name] = f
	return newKernels(i)
}

// unrelated reports whether a launch of work is of gpu1s2 or gpu2s2.
func unrelated(k *cudart.KernelCall) bool {
	ns := time.Duration(k.Uint64(2))
	return ns == quick.own || ns == quick.busy
}

// The whole chain of the copy runs while the unrelated streams are held.
func TestCopyDoesNotWaitForUnrelatedStreams(t *testing.T) {
	opts := onSimulator(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	used := make(chan struct{})
	i := image()
	i.Go["work"] = func(k *cudart.KernelCall) {
		if unrelated(k) {
			select {
			case <-used:
			case <-ctx.Done():
			}
		}
		goWork(k)
	}
	i.Go["use"] = func(k *cudart.KernelCall) {
		goUse(k)
		close(used)
	}
	checkIndependent(t, ctx, newKernels(i), opts)
}

// The unrelated streams run while the copy's chain is held at its beginning.
func TestUnrelatedStreamsDoNotWaitForTheCopy(t *testing.T) {
	opts := onSimulator(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var left sync.WaitGroup
	left.Add(1 + busyKernels)
	done := make(chan struct{})
	go func() {
		left.Wait()
		close(done)
	}()
	k := altered("work", func(k *cudart.KernelCall) {
		if unrelated(k) {
			goWork(k)
			left.Done()
			return
		}
		select {
		case <-done:
		case <-ctx.Done():
		}
		goWork(k)
	})
	checkIndependent(t, ctx, k, opts)
}

func checkIndependent(t *testing.T, ctx context.Context, k kernels, opts []actor.Option) {
	t.Helper()
	r, err := observe(ctx, k, quick, opts...)
	if ctx.Err() != nil {
		t.Fatal("a stream waits for one that has nothing to do with it")
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Problems) > 0 {
		t.Errorf("problems: %q", r.Problems)
	}
}

func TestWrongDataIsReported(t *testing.T) {
	opts := onSimulator(t)
	k := altered("fill", func(k *cudart.KernelCall) {
		goFill(k)
		cudart.View[uint32](k, 0)[9_999]++
	})
	r, err := observe(t.Context(), k, quick, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "element 9999 of the data that arrived") {
		t.Errorf("problems: %q", r.Problems)
	}
}

// A copy that begins before what it waited for has ended is noticed: here a kernel
// says that it ended long after it did.
func TestWaitThatDidNotHoldIsReported(t *testing.T) {
	opts := onSimulator(t)
	k := altered("fill", func(k *cudart.KernelCall) {
		goFill(k)
		if time.Duration(k.Uint64(5)) == quick.prepare {
			cudart.View[uint64](k, 3)[k.Uint32(4)+1] += uint64(time.Hour)
		}
	})
	r, err := observe(t.Context(), k, quick, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(r.Problems, func(p string) bool { return strings.Contains(p, `"copy" began`) }) {
		t.Errorf("problems: %q", r.Problems)
	}
}

func TestOneDeviceIsNotEnough(t *testing.T) {
	rt := sim.New(sim.Config{Devices: 1})
	defer rt.Close()
	_, err := observe(t.Context(), newKernels(image()), quick, actor.WithOpenRuntime(rt))
	if err == nil || !strings.Contains(err.Error(), "-virtual 2") {
		t.Errorf("error %v", err)
	}
}
