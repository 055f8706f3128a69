package sim

import (
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
)

// perform does one command that has come to run. It returns the fault that the
// command is, if it is one.
func (s *stream) perform(it *item) *loss {
	f := s.sim.faults.Load()
	if f != nil {
		if l := f.breaks(s, it); l != nil {
			return l
		}
	}
	if it.op == cudart.OpRecord {
		it.event.stamp(it.wait, s.sim.deviceTime())
		return nil
	}
	if s.sim.noBytes && it.op != cudart.OpFree {
		return nil
	}
	c, _ := cudart.Decode(s.current.words[it.from:it.to])
	switch c.Op {
	case cudart.OpLaunch:
		if f != nil {
			return s.runSlowly(it.function, &c)
		}
		return s.runKernel(it.function, &c)
	case cudart.OpFree:
		m, _ := s.sim.memoryOf(c.Dst)
		m.free(c.Dst)
		return nil
	case cudart.OpFill:
		return s.fill(&c)
	case cudart.OpCopyHtoD:
		return s.copyHtoD(&c)
	case cudart.OpCopyDtoH:
		return s.copyDtoH(&c)
	}
	return s.copyDevice(&c)
}

// pinDevice keeps a range mapped while a copy uses it (I5).
func (s *stream) pinDevice(c *cudart.Command, p uint64) (pin, []byte, *loss) {
	if m, ok := s.sim.memoryOf(p); ok {
		if at, b, _ := m.pin(p, c.Bytes); b != nil {
			return at, b, nil
		}
	}
	return pin{}, nil, illegal(c, p)
}

func illegal(c *cudart.Command, p uint64) *loss {
	return &loss{cudart.ErrIllegalAddress, fmt.Sprintf("%v: %d bytes at %#x are not inside live memory", c.Op, c.Bytes, p)}
}

func (s *stream) fill(c *cudart.Command) *loss {
	if c.Bytes == 0 {
		return nil
	}
	at, dst, l := s.pinDevice(c, c.Dst)
	if l != nil {
		return l
	}
	defer at.release()
	fillSparse(dst, c.Pattern, c.Width)
	return nil
}

func (s *stream) copyHtoD(c *cudart.Command) *loss {
	if c.Bytes == 0 {
		return nil
	}
	region, src := s.sim.pinned.pin(c.Src, c.Bytes)
	if src == nil {
		return illegal(c, c.Src)
	}
	defer s.sim.pinned.release(region)
	at, dst, l := s.pinDevice(c, c.Dst)
	if l != nil {
		return l
	}
	defer at.release()
	copySparse(dst, s.sim.carried(c, dst, src))
	return nil
}

func (s *stream) copyDtoH(c *cudart.Command) *loss {
	if c.Bytes == 0 {
		return nil
	}
	region, dst := s.sim.pinned.pin(c.Dst, c.Bytes)
	if dst == nil {
		return illegal(c, c.Dst)
	}
	defer s.sim.pinned.release(region)
	at, src, l := s.pinDevice(c, c.Src)
	if l != nil {
		return l
	}
	defer at.release()
	copySparse(dst, s.sim.carried(c, dst, src))
	return nil
}

func (s *stream) copyDevice(c *cudart.Command) *loss {
	if c.Bytes == 0 {
		return nil
	}
	to, dst, l := s.pinDevice(c, c.Dst)
	if l != nil {
		return l
	}
	defer to.release()
	from, src, l := s.pinDevice(c, c.Src)
	if l != nil {
		return l
	}
	defer from.release()
	copySparse(dst, s.sim.carried(c, dst, src))
	return nil
}
