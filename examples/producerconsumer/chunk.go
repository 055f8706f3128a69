package main

import (
	"errors"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart/cudarttest/bytecount"
	"github.com/gpuactor/gpuactor/device"
)

// chunk is what a producer hands to a consumer. The buffers in it change their
// owner when it is sent; whoever receives it has both.
//
// The last chunk of a file may have no buffers: that the file ends is often
// known only after its last byte has been sent.
type chunk struct {
	file int // its index among the job's
	data buffer.Buf[byte]
	bins buffer.Buf[uint32] // how often each value occurs in data
	last bool
	err  error // why the file could not be read to its end; on the last one
}

// release ends the use of what the chunk holds.
func (c *chunk) release(s *actor.Stream) error {
	return errors.Join(release(s, c.data), release(s, c.bins))
}

// release releases a buffer, where there is one.
func release[T buffer.Element](s *actor.Stream, b buffer.Buf[T]) error {
	if !b.Valid() {
		return nil
	}
	return b.Release(s)
}

const values = 256 // that a byte has

// The kernels are PTX with a Go function beside each, in package bytecount: a chunk's
// bytes are counted, those counts added to the file's, and those to all.
var (
	module     = device.NewModule(bytecount.Kernels)
	hist256    = module.Kernel("hist256", device.In[byte](), device.Scalar[uint64](), device.InOut[uint32]())
	accumulate = module.Kernel("accumulate", device.In[uint32](), device.InOut[uint64]())
	merge      = module.Kernel("merge", device.In[uint64](), device.InOut[uint64]())
)

// addGrid has a thread for each value.
var addGrid = device.Blocks(1, values)

// histGrid has blocks that each count about 8 KiB, since adding up a block's table
// costs as much as counting a few hundred bytes; but not more than a GPU runs at once.
func histGrid(bytes int) device.Grid {
	const each, most = 8 << 10, 512
	return device.Blocks(min(max(1, (bytes+each-1)/each), most), 256)
}

// count256 issues the counting of data into bins.
func count256(s *actor.Stream, data buffer.Buf[byte], bins buffer.Buf[uint32]) error {
	if err := bins.Fill(s, 0); err != nil {
		return err
	}
	n := data.Len()
	return s.Launch(hist256, histGrid(n), data.In(), device.U64(uint64(n)), bins.InOut())
}
