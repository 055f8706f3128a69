package main

import (
	"fmt"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/device"
)

// image is the module of this program. Each kernel is one block, and its first
// thread writes the clock to stamps[at] when it begins and to stamps[at+1] when it
// ends:
//
//	work(inout stamps, at u32, ns u64)
//	    takes ns. One thread
//	fill(out data []u32, n u32, seed u32, inout stamps, at u32, ns u64)
//	    data[i] = filled(i, seed) for i < n, and takes ns at least
//	use(inout data []u32, n u32, inout stamps, at u32, ns u64)
//	    adds 1 to each of data, and takes ns at least
//	stamp(inout stamps, at u32)
//	    stamps[at] is the clock, just when it has gone on; stamps[at+1] is by how
//	    much it goes on at a time. One thread
//
// The clock is %globaltimer, in ns, the same for all streams of a device; in the
// simulator it is the host's.
func image() cudart.Image {
	return cudart.Image{
		Name: "fourstreams",
		PTX:  ptxHead + ptxWork + ptxFill() + ptxUse() + ptxStamp,
		Go:   map[string]cudart.GoKernel{"work": goWork, "fill": goFill, "use": goUse, "stamp": goStamp},
	}
}

// kernels are the kernels as the actors launch them.
type kernels struct {
	module                 *device.Module
	work, fill, use, stamp *device.Kernel
}

func newKernels(image cudart.Image) kernels {
	m := device.NewModule(image)
	stamps, u32, u64 := device.InOut[uint64](), device.Scalar[uint32](), device.Scalar[uint64]()
	return kernels{
		module: m,
		work:   m.Kernel("work", stamps, u32, u64),
		fill:   m.Kernel("fill", device.Out[uint32](), u32, u32, stamps, u32, u64),
		use:    m.Kernel("use", device.InOut[uint32](), u32, stamps, u32, u64),
		stamp:  m.Kernel("stamp", stamps, u32),
	}
}

// factor spreads numbers over 32 bits, so that a byte in the wrong place shows.
const factor = 0x9e3779b1

// filled is what the kernel fill writes at i.
func filled(i int, seed uint32) uint32 { return uint32(i)*factor + seed }

// used is what the kernel use makes of it.
func used(v uint32) uint32 { return v + 1 }

// epoch is where the host's clock begins.
var epoch = time.Now()

// hostNow is the host's clock, in ns: monotonic.
func hostNow() int64 { return time.Since(epoch).Nanoseconds() }

// timed runs f between two stamps that are at least ns apart: the simulated GPU is
// busy for so long, the host's processor is not.
func timed(stamps []uint64, at uint32, ns uint64, f func()) {
	if uint64(at)+2 > uint64(len(stamps)) {
		panic(cudart.Fault{Text: fmt.Sprintf("stamps %d and the next, of %d", at, len(stamps))})
	}
	began := hostNow()
	stamps[at] = uint64(began)
	f()
	time.Sleep(time.Duration(int64(ns) - (hostNow() - began)))
	stamps[at+1] = uint64(hostNow())
}

func goWork(k *cudart.KernelCall) {
	timed(cudart.View[uint64](k, 0), k.Uint32(1), k.Uint64(2), func() {})
}

func goFill(k *cudart.KernelCall) {
	data, seed := cudart.View[uint32](k, 0)[:k.Uint32(1)], k.Uint32(2)
	timed(cudart.View[uint64](k, 3), k.Uint32(4), k.Uint64(5), func() {
		for i := range data {
			data[i] = filled(i, seed)
		}
	})
}

func goUse(k *cudart.KernelCall) {
	data := cudart.View[uint32](k, 0)[:k.Uint32(1)]
	timed(cudart.View[uint64](k, 2), k.Uint32(3), k.Uint64(4), func() {
		for i, v := range data {
			data[i] = used(v)
		}
	})
}

func goStamp(k *cudart.KernelCall) {
	stamps, at := cudart.View[uint64](k, 0), k.Uint32(1)
	now := tick(hostNow())
	stamps[at], stamps[at+1] = uint64(now), uint64(tick(now)-now)
}

// tick is the clock's next value after old.
func tick(old int64) int64 {
	for {
		if now := hostNow(); now != old {
			return now
		}
	}
}
