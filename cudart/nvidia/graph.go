//go:build linux && (amd64 || arm64)

package nvidia

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// kernelNode is what a kernel node of a graph launches, as the driver API had it
// before CUDA 12.0: submit.h declares the same.
type kernelNode struct {
	f      uintptr
	shape  [7]uint32 // grid, block, bytes of shared memory
	params uintptr
	extra  uintptr
}

// InstantiateLaunch makes a graph of one kernel node. What the node is made with is
// replaced at every launch; the driver reads as many parameters as the kernel has.
func (d *driver) InstantiateLaunch(ctx cudart.Context, f cudart.Function, args int) (cudart.LaunchGraph, error) {
	if err := d.need(ctx, cuGraphCreate); err != nil {
		return cudart.LaunchGraph{}, err
	}
	var g cudart.LaunchGraph
	if err := d.do(cuGraphCreate, uintptr(unsafe.Pointer(&g.Graph)), 0); err != nil {
		return cudart.LaunchGraph{}, err
	}
	if err := d.instantiate(&g, f, args); err != nil {
		return cudart.LaunchGraph{}, errors.Join(err, d.do(cuGraphDestroy, g.Graph))
	}
	return g, nil
}

func (d *driver) instantiate(g *cudart.LaunchGraph, f cudart.Function, args int) error {
	zero := new([1]uint64)
	params := make([]uintptr, max(args, 1))
	var pin runtime.Pinner // the driver finds their addresses inside other memory
	defer pin.Unpin()
	pin.Pin(zero)
	pin.Pin(&params[0])
	for i := range params {
		params[i] = uintptr(unsafe.Pointer(zero))
	}
	node := &kernelNode{uintptr(f), [7]uint32{1, 1, 1, 1, 1, 1, 0}, uintptr(unsafe.Pointer(&params[0])), 0}
	const none = 0 // no dependencies, no flags
	if err := d.do(cuGraphAddKernelNode, uintptr(unsafe.Pointer(&g.Node)), g.Graph, none, none, uintptr(unsafe.Pointer(node))); err != nil {
		return err
	}
	return d.do(cuGraphInstantiateWithFlags, uintptr(unsafe.Pointer(&g.Exec)), g.Graph, none)
}

func (d *driver) DestroyLaunch(ctx cudart.Context, g cudart.LaunchGraph) error {
	if err := d.in(ctx, cuGraphExecDestroy, g.Exec); err != nil {
		return err
	}
	return d.do(cuGraphDestroy, g.Graph)
}
