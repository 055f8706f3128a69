package sim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gpuactor/gpuactor/cudart"
)

// CallFault refuses calls of one kind. Nothing of the call happens, except that Close
// closes all the same. Behind a refused command of a list, Submit does as ever. A
// code that is sticky loses the machine too, as a fault of earlier work would that
// this call is the first to hear of.
type CallFault struct {
	// Call is the driver's entry point, as [cudart.Error] names it: one of [Calls].
	Call string
	Code cudart.Code // of the error; there is no default
	When When        // of the calls, or commands in a list, of that kind
}

func (f CallFault) check(int) error {
	switch {
	case !slices.Contains(calls, f.Call):
		return fmt.Errorf("no call of that name, see Calls")
	case f.Code == 0:
		return errors.New("it has no code")
	case !f.When.valid():
		return errBadWhen
	}
	return nil
}

var errBadWhen = errors.New("a When with something negative, or a chance above 1")

// closeCall is how Close is called in rules: the driver has no such call.
const closeCall = "close"

// calls are all kinds. Those of commands are at their submission.
var calls = []string{
	"cuCtxCreate", "cuCtxDestroy", "cuCtxEnablePeerAccess", "cuCtxGetCurrent", "cuCtxSetCurrent", "cuCtxSynchronize",
	"cuDeviceCanAccessPeer", "cuDeviceGet", "cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRetain",
	"cuEventCreate", "cuEventDestroy", "cuEventElapsedTime", "cuEventQuery", "cuEventRecord",
	"cuGraphExecDestroy", "cuGraphInstantiateWithFlags",
	"cuLaunchKernel",
	"cuMemAllocFromPoolAsync", "cuMemFreeAsync", "cuMemFreeHost", "cuMemGetInfo", "cuMemHostAlloc",
	"cuMemPoolCreate", "cuMemPoolDestroy", "cuMemPoolSetAccess", "cuMemPoolTrimTo",
	"cuMemcpyDtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyHtoDAsync", "cuMemcpyPeerAsync",
	"cuMemsetD16Async", "cuMemsetD32Async", "cuMemsetD8Async",
	"cuModuleGetFunction", "cuModuleLoadDataEx", "cuModuleUnload",
	"cuStreamCreate", "cuStreamDestroy", "cuStreamSynchronize", "cuStreamWaitEvent",
	closeCall,
}

// Calls are the kinds of calls that a [CallFault] can refuse: the driver's entry
// points, those of a list's commands among them, and "close" for Close.
func Calls() []string { return slices.Clone(calls) }

// refusal is the error that a rule gives a call about a device, or Any; nil mostly.
func (r *simulator) refusal(call string, device int) error {
	f := r.faults.Load()
	if f == nil {
		return nil
	}
	var first *loss
	each(f, func(x *Rule, c CallFault) {
		if c.Call == call && x.acts(c.When) > 0 && first == nil {
			first = &loss{c.Code, "by a rule of the simulation"}
		}
	})
	each(f, func(x *Rule, d DeviceFault) {
		if !d.Running && d.Device == device && x.acts(d.when()) > 0 && first == nil {
			first = d.loss()
		}
	})
	if first == nil {
		return nil
	}
	if first.code.Sticky() {
		r.lose(first)
	}
	return first.at(call)
}
