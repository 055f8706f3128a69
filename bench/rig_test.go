package bench

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/cudart"
	_ "github.com/gpuactor/gpuactor/cudart/nvidia"
	_ "github.com/gpuactor/gpuactor/cudart/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runtimeName is what GPUACTOR_RUNTIME says, or the simulator.
func runtimeName() string {
	if name := os.Getenv(cudart.Env); name != "" {
		return name
	}
	return "sim"
}

// newSystem opens a system that ends with the test.
func newSystem(tb testing.TB, opts ...actor.Option) *actor.System {
	tb.Helper()
	sys, err := actor.NewSystem(opts...)
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
