package transfer

import (
	"os"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check"
	_ "github.com/gpuactor/gpuactor/cudart/nvidia"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// onDriver reports whether the tests run on the driver: GPUACTOR_RUNTIME=nvidia.
func onDriver() bool { return os.Getenv(cudart.Env) == "nvidia" }

// openRuntime is the runtime of a test: the driver, whose first GPU stands in for
// two, or a fresh simulator. A test that needs the simulator's options skips itself
// on the driver.
func openRuntime(t testing.TB, c sim.Config) cudart.Runtime {
	t.Helper()
	if !onDriver() {
		return sim.New(c)
	}
	if c.Devices > 2 || c.NoPeer != nil || c.Memory != 0 {
		t.Skip("needs the simulator's options")
	}
	rt, err := cudart.Open(cudart.Options{Name: "nvidia"})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// checked is the option that fails the test on a report of the race checker, where the
// environment says GPUACTOR_CHECK=race.
func checked(t testing.TB) []actor.Option {
	if os.Getenv(check.Env) != check.Value {
		return nil
	}
	return []actor.Option{actor.WithCheck(check.To(t))}
}
