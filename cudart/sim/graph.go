package sim

import "github.com/gpuactor/gpuactor/cudart"

// launchGraph is an executable graph of one kernel. It saves nothing here: it exists
// so that what uses one is tried without a GPU.
type launchGraph struct{ f *function }

func (r *simulator) InstantiateLaunch(ctx cudart.Context, f cudart.Function, _ int) (cudart.LaunchGraph, error) {
	const call = "cuGraphInstantiateWithFlags"
	c, err := r.enter(ctx, call)
	if err != nil {
		return cudart.LaunchGraph{}, err
	}
	fn := r.functionTable.get(uintptr(f))
	if fn == nil || fn.ctx != c {
		return cudart.LaunchGraph{}, refuse(cudart.ErrInvalidHandle, call, "no function %#x in this context", uintptr(f))
	}
	h := r.launchTable.put(&launchGraph{fn})
	if h == 0 {
		return cudart.LaunchGraph{}, refuse(cudart.ErrOutOfMemory, call, "too many graphs")
	}
	return cudart.LaunchGraph{Exec: h}, nil
}

func (r *simulator) DestroyLaunch(ctx cudart.Context, g cudart.LaunchGraph) error {
	const call = "cuGraphExecDestroy"
	goOn, err := r.letGo(ctx, call)
	if goOn && r.launchTable.take(g.Exec) == nil {
		return absent(err, cudart.ErrInvalidHandle, call, "no executable graph %#x", g.Exec)
	}
	return err
}
