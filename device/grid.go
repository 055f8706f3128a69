package device

import (
	"fmt"
	"math"

	"github.com/gpuactor/gpuactor/cudart"
)

// Grid is how many threads a launch has: blocks, threads of each block, and
// bytes of dynamic shared memory of each block.
type Grid struct {
	Blocks, Threads cudart.Dim3 // of the grid, of each block; no extent is 0
	Shared          uint32      // bytes of each block
}

// linearBlock is the block of a one-dimensional launch: a multiple of the warp,
// small enough for every device and register count that is usual.
const linearBlock = 256

// Linear is a grid of at least n threads in one dimension, in blocks of 256. A
// kernel compares its index with n. Linear(0) is a grid of one block; a negative n
// makes a grid whose launch is a [*LaunchError].
func Linear(n int) Grid {
	blocks := max(1, 1+(int64(n)-1)/linearBlock) // without an overflow for the largest n
	if n < 0 {
		blocks = -1
	}
	return line(blocks, linearBlock)
}

// Blocks is a grid of n blocks of threads threads each, in one dimension. What no
// device has room for, and negative numbers, make a grid whose launch is a
// [*LaunchError].
func Blocks(n, threads int) Grid { return line(int64(n), int64(threads)) }

// line is a grid in one dimension.
func line(blocks, threads int64) Grid {
	return Grid{Blocks: cudart.Dim3{X: extent(blocks), Y: 1, Z: 1}, Threads: cudart.Dim3{X: extent(threads), Y: 1, Z: 1}}
}

// extent is n as a Grid holds it. What it cannot hold becomes what no device takes,
// and never another number: 0 for a negative one.
func extent(n int64) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }

// gridFault says what a device cannot launch, or is empty.
func gridFault(g Grid, info *cudart.DeviceInfo, f cudart.FunctionInfo) string {
	b, t := g.Blocks, g.Threads
	maxThreads := info.MaxThreads
	if f.MaxThreads > 0 {
		maxThreads = min(maxThreads, f.MaxThreads)
	}
	switch threads := uint64(t.X) * uint64(t.Y) * uint64(t.Z); {
	case b.X == 0 || b.Y == 0 || b.Z == 0 || threads == 0:
		return fmt.Sprintf("grid %v of blocks %v has an extent of 0 (or was made with a negative number)", b, t)
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
