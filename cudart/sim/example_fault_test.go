package sim_test

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// A machine on which the second allocation of pinned memory fails, and, from a moment
// that the test chooses, the next event too. A program gives such a machine to
// actor.WithOpenRuntime.
func ExampleConfig_faults() {
	rt := sim.New(sim.Config{Faults: []sim.Fault{
		sim.CallFault{Call: "cuMemHostAlloc", Code: cudart.ErrOutOfMemory, When: sim.Nth(2)},
	}})
	defer rt.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, _ := rt.RetainPrimary(0)
	_ = rt.SetCurrent(ctx)
	defer rt.SetCurrent(0)

	for range 3 {
		_, err := rt.AllocHost(ctx, 4096)
		fmt.Println(errors.Is(err, cudart.ErrOutOfMemory))
	}

	rule := sim.Inject(rt, sim.CallFault{Call: "cuEventCreate", Code: cudart.ErrInvalidValue})
	_, err := rt.CreateEvent(ctx, false)
	fmt.Println(err)
	rule.Lift()
	_, err = rt.CreateEvent(ctx, false)
	fmt.Println(err, rule.Hits())
	// Output:
	// false
	// true
	// false
	// cudart: cuEventCreate: CUDA_ERROR_INVALID_VALUE (1): by a rule of the simulation
	// <nil> 1
}
