package actor

import (
	"context"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check"
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

// checked is the option that fails the test on a report of the race checker, where the
// environment says GPUACTOR_CHECK=race.
func checked(t testing.TB) []Option {
	if os.Getenv(check.Env) != check.Value {
		return nil
	}
	return []Option{WithCheck(check.To(t))}
}

// newSystem is a system of two devices (two contexts of the one GPU on the driver)
// that is closed when the test ends; then no buffer may be left.
func newSystem(t testing.TB, opts ...Option) *System {
	t.Helper()
	return newSystemOn(t, openRuntime(t), opts...)
}

// newSystemOn is newSystem on a runtime that the test made, which is closed too.
func newSystemOn(t testing.TB, rt cudart.Runtime, opts ...Option) *System {
	t.Helper()
	all := append(checked(t), WithOpenRuntime(rt), WithDevices(2), WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if onDriver() {
		all = append(all, WithVirtual(2))
	}
	before := buffer.Live()
	sys, err := NewSystem(append(all, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), longest)
		defer cancel()
		if err := sys.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := rt.Close(); err != nil {
			t.Errorf("close the runtime: %v", err)
		}
		if n := buffer.Live(); n != before {
			t.Errorf("%d buffers before the test, %d after", before, n)
		}
	})
	if err := sys.Load(module); err != nil {
		t.Fatal(err)
	}
	return sys
}

// longest is how long a test waits for what must happen, before it says that it
// did not.
const longest = 20 * time.Second

// soon is a context that ends when the test has waited for too long.
func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	t.Cleanup(cancel)
	return ctx
}
