//go:build !cgo && linux && (amd64 || arm64)

package nvidia

import (
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gpuactor/gpuactor/cudart"
)

// frame is the arguments of one call. purego has every argument list on the heap,
// because arguments may be addresses; ours are not, or are of the frame itself, and
// share a few frames.
type frame struct {
	args [11]uintptr
	node kernelNode
}

var frames = sync.Pool{New: func() any { return new(frame) }}

// call calls an entry point with arguments that are no addresses of Go.
func (f *frame) call(fn uintptr, args ...uintptr) cudart.Code {
	n := copy(f.args[:], args)
	r, _, _ := purego.SyscallN(fn, f.args[:n]...)
	return cudart.Code(r)
}

// quick calls an entry point of one parameter that is no address of Go.
func (d *driver) quick(e entry, arg uintptr) cudart.Code {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	return f.call(d.entries[e], arg)
}

// submit gives a stream the words of a list, one call for each command: the
// index and the code of the first refused one, or -1. It reads the words itself,
// as submit.c does.
func (d *driver) submit(s cudart.Stream, words []uint64) (refused int, first cudart.Code) {
	f := frames.Get().(*frame)
	defer frames.Put(f)
	refused = -1
	for i := 0; len(words) > 0; i++ {
		n := words[0] >> 16 & 0xffff
		w := words[:n]
		words = words[n:]
		var code cudart.Code
		switch op := cudart.Op(w[0]); {
		case op == cudart.OpRecord:
			code = f.call(d.entries[cuEventRecord], uintptr(w[1]), uintptr(s))
		case op == cudart.OpWait:
			code = f.call(d.entries[cuStreamWaitEvent], uintptr(s), uintptr(w[1]), 0)
		case op == cudart.OpFree:
			code = f.call(d.entries[cuMemFreeAsync], uintptr(w[1]), uintptr(s))
		case refused >= 0: // an effect behind a refused command
			continue
		default:
			code = f.effect(d, op, s, w)
		}
		if code != 0 && refused < 0 {
			refused, first = i, code
		}
	}
	return refused, first
}

// effect runs a command that touches a user's memory. A copy or a fill of
// nothing is no call: there may be no memory behind its addresses.
func (f *frame) effect(d *driver, op cudart.Op, s cudart.Stream, w []uint64) cudart.Code {
	switch {
	case op == cudart.OpLaunch:
		return f.launch(d, s, w)
	case w[3] == 0:
		return 0
	}
	switch op {
	case cudart.OpCopyHtoD:
		return f.call(d.entries[cuMemcpyHtoDAsync], uintptr(w[1]), uintptr(w[2]), uintptr(w[3]), uintptr(s))
	case cudart.OpCopyDtoH:
		return f.call(d.entries[cuMemcpyDtoHAsync], uintptr(w[1]), uintptr(w[2]), uintptr(w[3]), uintptr(s))
	case cudart.OpCopyDtoD:
		return f.call(d.entries[cuMemcpyDtoDAsync], uintptr(w[1]), uintptr(w[2]), uintptr(w[3]), uintptr(s))
	case cudart.OpCopyPeer:
		return f.call(d.entries[cuMemcpyPeerAsync], uintptr(w[1]), uintptr(w[4]), uintptr(w[2]), uintptr(w[5]), uintptr(w[3]), uintptr(s))
	}
	return f.fill(d, s, w)
}

func (f *frame) fill(d *driver, s cudart.Stream, w []uint64) cudart.Code {
	switch w[0] >> 32 {
	case 1:
		return f.call(d.entries[cuMemsetD8Async], uintptr(w[1]), uintptr(uint8(w[2])), uintptr(w[3]), uintptr(s))
	case 2:
		return f.call(d.entries[cuMemsetD16Async], uintptr(w[1]), uintptr(uint16(w[2])), uintptr(w[3]), uintptr(s))
	case 4:
		return f.call(d.entries[cuMemsetD32Async], uintptr(w[1]), uintptr(uint32(w[2])), uintptr(w[3]), uintptr(s))
	}
	return cudart.ErrInvalidValue
}

func (f *frame) launch(d *driver, s cudart.Stream, w []uint64) cudart.Code {
	const head = 8
	params := uintptr(unsafe.Pointer(&w[0])) + uintptr(head+w[0]>>32)*8 // in the list's arena, which does not move
	if w[6] != 0 && f.launchGraph(d, s, w, params) {
		return 0
	}
	return f.call(d.entries[cuLaunchKernel], uintptr(w[1]),
		uintptr(uint32(w[2])), uintptr(w[2]>>32), uintptr(uint32(w[3])),
		uintptr(w[3]>>32), uintptr(uint32(w[4])), uintptr(w[4]>>32),
		uintptr(uint32(w[5])), uintptr(s), params, 0)
}

// launchGraph is a launch by an executable graph; false where that was refused.
func (f *frame) launchGraph(d *driver, s cudart.Stream, w []uint64, params uintptr) bool {
	f.node = kernelNode{uintptr(w[1]), [7]uint32{
		uint32(w[2]), uint32(w[2] >> 32), uint32(w[3]),
		uint32(w[3] >> 32), uint32(w[4]), uint32(w[4] >> 32),
		uint32(w[5])}, params, 0}
	return f.call(d.entries[cuGraphExecKernelNodeSetParams], uintptr(w[6]), uintptr(w[7]), uintptr(unsafe.Pointer(&f.node))) == 0 &&
		f.call(d.entries[cuGraphLaunch], uintptr(w[6]), uintptr(s)) == 0
}
