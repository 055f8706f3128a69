package main

import (
	"fmt"
	"strings"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"
)

// moveName is the kernel that copies its second range to its first.
const moveName = "move"

// touchName is the kernel that touches n ranges.
func touchName(n int) string { return fmt.Sprintf("touch%d", n) }

// kernels is a module with the kernels that a program needs. They take ranges, the
// statement's number, and which of the ranges are written, a bit each. A checker looks
// at what arguments declare, so their PTX does nothing; the Go functions read and
// write.
func kernels(m *machine) cudart.Image {
	image := cudart.Image{Name: "programs", Go: map[string]cudart.GoKernel{}}
	var ptx strings.Builder
	ptx.WriteString(".version 6.0\n.target sm_50\n.address_size 64\n")
	add := func(name string, ranges int, run cudart.GoKernel) {
		if image.Go[name] != nil {
			return
		}
		image.Go[name] = run
		fmt.Fprintf(&ptx, ".visible .entry %s(", name)
		for i := range ranges {
			fmt.Fprintf(&ptx, ".param .u64 p%d, ", i)
		}
		ptx.WriteString(".param .u64 id, .param .u64 writes) { ret; }\n")
	}
	touch := func(n int) { add(touchName(n), n, func(k *cudart.KernelCall) { m.touchRanges(k, n) }) }
	if m.peek {
		touch(1)
	}
	for i := range m.p.Statements {
		switch s := &m.p.Statements[i]; s.Op {
		case program.Kernel, program.Fill:
			touch(len(s.Access))
		case program.Copy, program.Memcpy:
			add(moveName, 2, func(k *cudart.KernelCall) { copy(k.Bytes(0), k.Bytes(1)) })
		}
	}
	image.PTX = ptx.String()
	return image
}

// touchRanges reads the ranges that are not written, and writes the others.
func (m *machine) touchRanges(k *cudart.KernelCall, n int) {
	id, writes := k.Uint64(n), k.Uint64(n+1)
	h := mix(id)
	for i := range n {
		if writes>>i&1 == 0 {
			h = gather(h, k.Bytes(i))
		}
	}
	m.saw[int(id)-len(m.p.Buffers)] = h
	for i := range n {
		if writes>>i&1 != 0 {
			spread(h+uint64(i)<<32, k.Bytes(i))
		}
	}
}
