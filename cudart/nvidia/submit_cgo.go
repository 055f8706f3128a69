//go:build cgo && linux && (amd64 || arm64)

package nvidia

// #cgo noescape gpuactor_submit
// #cgo noescape gpuactor_call
// #include "submit.h"
import "C"

import (
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// Neither function is marked nocallback: a tool that hooks the driver may call
// back on this thread, and Go would end the process.

// The two tables of numbers agree, or this does not compile.
var _ = [1]struct{}{
	C.GPUACTOR_LAUNCH - cuLaunchKernel |
		C.GPUACTOR_COPY_HTOD - cuMemcpyHtoDAsync |
		C.GPUACTOR_COPY_DTOH - cuMemcpyDtoHAsync |
		C.GPUACTOR_COPY_DTOD - cuMemcpyDtoDAsync |
		C.GPUACTOR_COPY_PEER - cuMemcpyPeerAsync |
		C.GPUACTOR_FILL_8 - cuMemsetD8Async |
		C.GPUACTOR_FILL_16 - cuMemsetD16Async |
		C.GPUACTOR_FILL_32 - cuMemsetD32Async |
		C.GPUACTOR_RECORD - cuEventRecord |
		C.GPUACTOR_WAIT - cuStreamWaitEvent |
		C.GPUACTOR_FREE - cuMemFreeAsync |
		C.GPUACTOR_GRAPH_SET - cuGraphExecKernelNodeSetParams |
		C.GPUACTOR_GRAPH_LAUNCH - cuGraphLaunch: {},
}

// submit gives a stream the words of a list, in one crossing: the index and the
// code of the first refused command, or -1.
func (d *driver) submit(s cudart.Stream, words []uint64) (int, cudart.Code) {
	r := uint64(C.gpuactor_submit(
		(*C.uintptr_t)(unsafe.Pointer(&d.entries[0])), C.uintptr_t(s),
		(*C.uint64_t)(unsafe.Pointer(&words[0])), C.size_t(len(words))))
	if r == 0 {
		return -1, 0
	}
	return int(r >> 32), cudart.Code(int32(uint32(r)))
}

// quick calls an entry point of one parameter that is no address of Go.
func (d *driver) quick(e entry, arg uintptr) cudart.Code {
	return cudart.Code(C.gpuactor_call(C.uintptr_t(d.entries[e]), C.uintptr_t(arg)))
}
