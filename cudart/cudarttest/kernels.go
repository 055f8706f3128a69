package cudarttest

import (
	_ "embed"
	"sync/atomic"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

//go:embed kernels.ptx
var ptx string

// Kernels are the suite's kernels, for the tests of other packages too:
//
//	fill32(out, value u32, n u32)      out[i] = value
//	add32(inout, value u32, n u32)     inout[i] += value
//	copy32(out, in, n u32)             out[i] = in[i]
//	gate(in flag, limit u64)           waits until *flag is not 0, at most limit ns
//	busy(ns u64)                       takes ns
//	scalars(out, u8, u16, u32, u64, f32, f64)   out[k] = argument k as 64 bits
//	coords(out)                        out[z][y][x] = x | y<<10 | z<<20
//	idle()                             nothing
//	fault()                            traps
//
// The first three take one thread for each 32-bit element, in one dimension, and
// ignore threads beyond n; gate and busy take one thread. The flag of a gate is a
// word of pinned host memory, which a device addresses by its host address.
var Kernels = cudart.Image{
	Name: "cudarttest",
	PTX:  ptx,
	Go: map[string]cudart.GoKernel{
		"fill32":  fill32,
		"add32":   add32,
		"copy32":  copy32,
		"gate":    gateKernel,
		"busy":    busy,
		"scalars": scalars,
		"coords":  coords,
		"idle":    func(*cudart.KernelCall) {},
		"fault":   func(*cudart.KernelCall) { panic("trap") },
	},
}

// threads is how many threads a launch has in x, at most n of which work.
func threads(k *cudart.KernelCall, n uint32) int {
	return int(min(uint64(n), uint64(k.Grid.X)*uint64(k.Block.X)))
}

func fill32(k *cudart.KernelCall) {
	out, value := cudart.View[uint32](k, 0), k.Uint32(1)
	for i := range threads(k, k.Uint32(2)) {
		out[i] = value
	}
}

func add32(k *cudart.KernelCall) {
	inout, value := cudart.View[uint32](k, 0), k.Uint32(1)
	for i := range threads(k, k.Uint32(2)) {
		inout[i] += value
	}
}

func copy32(k *cudart.KernelCall) {
	n := threads(k, k.Uint32(2))
	copy(cudart.View[uint32](k, 0)[:n], cudart.View[uint32](k, 1)[:n])
}

func gateKernel(k *cudart.KernelCall) {
	flag := &cudart.View[uint32](k, 0)[0]
	for end := after(k.Uint64(1)); atomic.LoadUint32(flag) == 0 && time.Now().Before(end); {
		k.Yield()
	}
}

func busy(k *cudart.KernelCall) { k.Spend(time.Duration(k.Uint64(0))) }

func after(ns uint64) time.Time { return time.Now().Add(time.Duration(ns)) }

func scalars(k *cudart.KernelCall) {
	out := cudart.View[uint64](k, 0)
	out[0] = uint64(uint8(k.Uint32(1)))
	out[1] = uint64(uint16(k.Uint32(2)))
	out[2] = uint64(k.Uint32(3))
	out[3] = k.Uint64(4)
	out[4] = uint64(k.Uint32(5))
	out[5] = k.Uint64(6)
}

func coords(k *cudart.KernelCall) {
	out := cudart.View[uint32](k, 0)
	w, h, d := k.Grid.X*k.Block.X, k.Grid.Y*k.Block.Y, k.Grid.Z*k.Block.Z
	i := 0
	for z := range d {
		for y := range h {
			for x := range w {
				out[i] = x | y<<10 | z<<20
				i++
			}
		}
	}
}
