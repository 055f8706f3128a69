package bench

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	_ "github.com/gpuactor/gpuactor/cudart/nvidia"
	_ "github.com/gpuactor/gpuactor/cudart/sim"
	"github.com/gpuactor/gpuactor/device"
)

var (
	module = device.NewModule(cudarttest.Kernels)
	fill32 = module.Kernel("fill32", device.Out[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())
	add32  = module.Kernel("add32", device.InOut[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())
)

// itemLen is the length of the items: 4 KiB.
const itemLen = 1024

// newSystem opens two devices: the simulator's, or two contexts of the one GPU
// where GPUACTOR_RUNTIME says nvidia.
func newSystem(tb testing.TB, opts ...actor.Option) *actor.System {
	tb.Helper()
	name := os.Getenv(cudart.Env)
	if name == "" {
		name = "sim"
	}
	sys, err := actor.NewSystem(append([]actor.Option{actor.WithRuntime(name)}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := sys.Close(ctx); err != nil {
			tb.Error(err)
		}
	})
	if err := sys.Load(module); err != nil {
		tb.Fatal(err)
	}
	return sys
}

// warm is how many items go through before the measurement: rings, pools and
// maps have grown by then.
const warm = 2000
