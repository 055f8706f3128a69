package device

import (
	"fmt"
	"math"

	"github.com/gpuactor/gpuactor/cudart"
)

// Grid is how many threads a launch has: blocks, threads of each block, and
// bytes of dynamic shared memory of each block.
type Grid struct {
	Blocks, Threads cudart.Dim3
	Shared          uint32
}

// linearBlock is the block of a one-dimensional launch: a multiple of the warp,
// small enough for every device and register count that is usual.
const linearBlock = 256

// Linear is a grid of at least n threads in one dimension, in blocks of 256. A
// kernel compares its index with n. Linear(0) is a grid of one block.
func Linear(n int) Grid {
	blocks := max(1, 1+(int64(n)-1)/linearBlock) // without an overflow for the largest n
	return Grid{Blocks: cudart.Dim3{X: uint32(min(blocks, math.MaxUint32)), Y: 1, Z: 1}, Threads: cudart.Dim3{X: linearBlock, Y: 1, Z: 1}}
}

// Blocks is a grid of n blocks of threads threads, in one dimension.
func Blocks(n, threads int) Grid {
	return Grid{Blocks: cudart.Dim3{X: uint32(n), Y: 1, Z: 1}, Threads: cudart.Dim3{X: uint32(threads), Y: 1, Z: 1}}
}

// gridFault says what a device cannot launch, or is empty.
func gridFault(g Grid, info *cudart.DeviceInfo, f cudart.FunctionInfo) string {
	b, t := g.Blocks, g.Threads
	maxThreads := info.MaxThreads
	if f.MaxThreads > 0 {
		maxThreads = min(maxThreads, f.MaxThreads)
	}
	switch threads := uint64(t.X) * uint64(t.Y) * uint64(t.Z); {
	case b.X == 0 || b.Y == 0 || b.Z == 0 || threads == 0:
		return fmt.Sprintf("grid %v of blocks %v has an extent of 0", b, t)
	case b.X > info.MaxGrid.X || b.Y > info.MaxGrid.Y || b.Z > info.MaxGrid.Z:
		return fmt.Sprintf("grid %v is larger than the device's %v", b, info.MaxGrid)
	case t.X > info.MaxBlock.X || t.Y > info.MaxBlock.Y || t.Z > info.MaxBlock.Z:
		return fmt.Sprintf("block %v is larger than the device's %v", t, info.MaxBlock)
	case threads > uint64(maxThreads):
		return fmt.Sprintf("block %v has %d threads, at most %d are possible", t, threads, maxThreads)
	case g.Shared > info.MaxShared:
		return fmt.Sprintf("%d bytes of shared memory, at most %d are possible", g.Shared, info.MaxShared)
	}
	return ""
}
