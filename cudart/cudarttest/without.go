package cudarttest

import (
	"fmt"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// Without is rt, except that the commands which drop chooses never reach it: the
// others of a list are submitted as if they had never been there. A test uses it to
// show what a wait or a record is good for: without it, something goes wrong.
//
// drop is asked for every command of every list, in order, on the submitter's
// thread; the command it sees is good until it returns.
func Without(rt cudart.Runtime, drop func(cudart.Command) bool) cudart.Runtime {
	return &without{rt, drop}
}

type without struct {
	cudart.Runtime
	drop func(cudart.Command) bool
}

// Submit is part of [cudart.Runtime]. The index of a refused command is its index
// in the list that the caller gave.
func (w *without) Submit(ctx cudart.Context, s cudart.Stream, l *cudart.List) (int, error) {
	kept, err := cudart.NewList(8*len(l.Words()) + 16) // a list keeps room for one record more
	if err != nil {
		return 0, err
	}
	defer kept.Close()
	var at []int // at[k] is the place in l of the kth command in kept
	words := l.Words()
	for i := 0; len(words) > 0; i++ {
		var c cudart.Command
		c, words = cudart.Decode(words)
		if !w.drop(c) {
			resubmit(kept, &c)
			at = append(at, i)
		}
	}
	refused, err := w.Runtime.Submit(ctx, s, kept)
	if refused >= 0 && refused < len(at) {
		refused = at[refused]
	}
	return refused, err
}

// resubmit appends a command that was decoded from another list.
func resubmit(l *cudart.List, c *cudart.Command) {
	if !appended(l, c) {
		panic(fmt.Sprintf("cudarttest: no room for a %v in a list that is as large as the one it came from", c.Op))
	}
}

func appended(l *cudart.List, c *cudart.Command) bool {
	switch c.Op {
	case cudart.OpLaunch:
		args := make([]cudart.Arg, c.Args())
		for i := range args {
			args[i] = c.Arg(i)
		}
		return l.LaunchBy(c.By, c.Function, c.Grid, c.Block, c.Shared, args...)
	case cudart.OpCopyHtoD:
		return l.CopyHtoD(cudart.DevicePtr(c.Dst), hostPointer(c.Src), c.Bytes)
	case cudart.OpCopyDtoH:
		return l.CopyDtoH(hostPointer(c.Dst), cudart.DevicePtr(c.Src), c.Bytes)
	case cudart.OpCopyDtoD:
		return l.CopyDtoD(cudart.DevicePtr(c.Dst), cudart.DevicePtr(c.Src), c.Bytes)
	case cudart.OpCopyPeer:
		return l.CopyPeer(cudart.DevicePtr(c.Dst), c.DstCtx, cudart.DevicePtr(c.Src), c.SrcCtx, c.Bytes)
	case cudart.OpFill:
		return l.Fill(cudart.DevicePtr(c.Dst), c.Pattern, c.Width, c.Bytes/uint64(c.Width))
	case cudart.OpRecord:
		return l.Record(c.Event)
	case cudart.OpWait:
		return l.Wait(c.Event)
	case cudart.OpFree:
		return l.Free(cudart.DevicePtr(c.Dst))
	}
	panic(fmt.Sprintf("cudarttest: a command of an unknown kind: %v", c.Op))
}

// hostPointer is an address of pinned memory, which is outside Go's heap, as the
// pointer that it was before it was encoded.
func hostPointer(a uint64) unsafe.Pointer {
	p := uintptr(a)
	return *(*unsafe.Pointer)(unsafe.Pointer(&p))
}
