package sim

import (
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
)

// checkLaunch is the driver's check of a launch's shape: zero and "" where it
// is fine.
func checkLaunch(d *cudart.DeviceInfo, f cudart.FunctionInfo, grid, block cudart.Dim3, shared uint32) (cudart.Code, string) {
	if !within(grid, d.MaxGrid) {
		return cudart.ErrInvalidValue, fmt.Sprintf("a grid of %v blocks, from 1 to %v are possible", grid, d.MaxGrid)
	}
	if !within(block, d.MaxBlock) {
		return cudart.ErrInvalidValue, fmt.Sprintf("a block of %v threads, from 1 to %v are possible", block, d.MaxBlock)
	}
	threads := uint64(block.X) * uint64(block.Y) * uint64(block.Z)
	if threads > uint64(d.MaxThreads) {
		return cudart.ErrInvalidValue, fmt.Sprintf("a block of %d threads, the device has room for %d", threads, d.MaxThreads)
	}
	if threads > uint64(f.MaxThreads) {
		return cudart.ErrLaunchResources, fmt.Sprintf("a block of %d threads, the kernel's registers allow %d", threads, f.MaxThreads)
	}
	if shared > d.MaxShared {
		return cudart.ErrInvalidValue, fmt.Sprintf("%d bytes of shared memory, a block has %d", shared, d.MaxShared)
	}
	return 0, ""
}

func within(d, limit cudart.Dim3) bool {
	return d.X > 0 && d.Y > 0 && d.Z > 0 && d.X <= limit.X && d.Y <= limit.Y && d.Z <= limit.Z
}

// checkFill is given the count of elements too: Bytes may have wrapped around.
func (s *stream) checkFill(c *cudart.Command, count uint64) error {
	call := callOf(c.Op, c.Width)
	if c.Width != 1 && c.Width != 2 && c.Width != 4 {
		return refuse(cudart.ErrInvalidValue, call, "elements of %d bytes", c.Width)
	}
	if c.Dst%uint64(c.Width) != 0 {
		return refuse(cudart.ErrInvalidValue, call, "%#x is not aligned to %d", c.Dst, c.Width)
	}
	if count > maxMemory {
		return refuse(cudart.ErrInvalidValue, call, "%d elements", count)
	}
	return s.checkDevice(call, c.Dst, c.Bytes, s.ctx.device)
}

// checkCopy sees to it that addresses are known when the copy is submitted. What
// becomes of them until it runs is the program's affair, and a fault.
func (s *stream) checkCopy(c *cudart.Command) error {
	call := callOf(c.Op, 0)
	here := s.ctx.device
	dst, src := here, here
	if c.Op == cudart.OpCopyPeer {
		to, from := s.sim.contextTable.get(uintptr(c.DstCtx)), s.sim.contextTable.get(uintptr(c.SrcCtx))
		if to == nil || from == nil {
			return refuse(cudart.ErrInvalidContext, call, "no context %#x or %#x", uintptr(c.DstCtx), uintptr(c.SrcCtx))
		}
		dst, src = to.device, from.device
	}
	if c.Op == cudart.OpCopyDtoH {
		if err := s.checkHost(call, c.Dst, c.Bytes); err != nil {
			return err
		}
	} else if err := s.checkDevice(call, c.Dst, c.Bytes, dst); err != nil {
		return err
	}
	if c.Op == cudart.OpCopyHtoD {
		return s.checkHost(call, c.Src, c.Bytes)
	}
	return s.checkDevice(call, c.Src, c.Bytes, src)
}

func (s *stream) checkDevice(call string, p, bytes uint64, d *device) error {
	if bytes == 0 {
		return nil
	}
	m, ok := s.sim.memoryOf(p)
	if !ok || !m.known(p, bytes) {
		return refuse(cudart.ErrInvalidValue, call, "%d bytes at %#x are not inside one allocation", bytes, p)
	}
	if m != d.memory {
		return refuse(cudart.ErrInvalidValue, call, "%#x is memory of another device than %d", p, d.info.Ordinal)
	}
	return nil
}

func (s *stream) checkHost(call string, p, bytes uint64) error {
	if bytes > 0 && !s.sim.pinned.known(p, bytes) {
		return refuse(cudart.ErrInvalidValue, call, "%d bytes at %#x of the host are not pinned", bytes, p)
	}
	return nil
}
