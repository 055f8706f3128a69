package buffer

import (
	"os"
	"sync"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	_ "github.com/gpuactor/gpuactor/cudart/nvidia"
	"github.com/gpuactor/gpuactor/cudart/sim"
	"github.com/gpuactor/gpuactor/device"
)

// onDriver reports whether the tests run on the driver: GPUACTOR_RUNTIME=nvidia.
func onDriver() bool { return os.Getenv(cudart.Env) == "nvidia" }

// openDevices opens the driver or a fresh simulator, and two devices of it.
func openDevices(t testing.TB, budget uint64) (*refusing, []*device.Device) {
	t.Helper()
	o := device.Options{Budget: budget, Max: 2}
	rt := &refusing{}
	if onDriver() {
		o.Virtual = 2
		r, err := cudart.Open(cudart.Options{Name: "nvidia"})
		if err != nil {
			t.Fatal(err)
		}
		rt.Runtime = r
	} else {
		rt.Runtime = sim.New(sim.Config{})
	}
	devs, err := device.Open(checked(t, rt), o)
	if err != nil {
		t.Fatal(err)
	}
	return rt, devs
}

// checked is rt with a race checker around it that fails the test, where the
// environment says GPUACTOR_CHECK=race.
func checked(t testing.TB, rt cudart.Runtime) cudart.Runtime {
	if os.Getenv(check.Env) != check.Value {
		return rt
	}
	return check.New(rt, check.Options{Report: check.To(t), Site: device.Site})
}

// refusing is a runtime that refuses the commands it is told to, as [cudart.Runtime]
// says: effects behind are skipped, the rest runs.
type refusing struct {
	cudart.Runtime
	mu     sync.Mutex
	refuse func(cudart.Command) bool
	waits  int
}

var errRefused = &cudart.Error{Code: cudart.ErrInvalidValue, Call: "test", Text: "refused by the test"}

func (w *refusing) refuses(f func(cudart.Command) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = f
}

func (w *refusing) Submit(ctx cudart.Context, s cudart.Stream, l *cudart.List) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i, refused := -1, -1
	kept := cudarttest.Without(w.Runtime, func(c cudart.Command) bool {
		i++
		if c.Op == cudart.OpWait {
			w.waits++
		}
		if refused < 0 && w.refuse != nil && w.refuse(c) {
			refused = i
			return true
		}
		return refused >= 0 && c.Op.Effect()
	})
	if i, err := kept.Submit(ctx, s, l); err != nil || refused < 0 {
		return i, err
	}
	return refused, errRefused
}
