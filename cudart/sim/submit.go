package sim

import (
	"github.com/gpuactor/gpuactor/cudart"
)

// Submit checks, numbers and queues. Everything that CUDA decides at submission
// is decided here: what a wait waits for, and what is refused.
func (r *simulator) Submit(ctx cudart.Context, h cudart.Stream, l *cudart.List) (int, error) {
	words := l.Words()
	if len(words) == 0 {
		_, err := r.current(ctx, "submit")
		return -1, err
	}
	first := callOf(cudart.Op(words[0]), 1)
	c, err := r.current(ctx, first)
	if err != nil {
		return 0, err
	}
	s, err := r.stream(c, h, first)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	refused, err := s.accept(words, first)
	start := s.start()
	s.mu.Unlock()
	if start {
		r.exec.ready(s)
	}
	r.exec.turn("", nil)
	return refused, err
}

// accept queues what can be: behind a refused command no effect, but all
// bookkeeping. The caller holds mu.
func (s *stream) accept(words []uint64, first string) (refused int, err error) {
	// Looked at again under the lock: a loss behind this is seen by the executor.
	if err := s.sim.lossAt(first); err != nil {
		return 0, err
	}
	if s.retired {
		return 0, refuse(cudart.ErrInvalidHandle, first, "the stream was destroyed")
	}
	refused = -1
	for i := 0; len(words) > 0; i++ {
		c, rest := cudart.Decode(words)
		words = words[:len(words)-len(rest)]
		if refused < 0 || !c.Op.Effect() {
			if e := s.take(&c, words); e != nil && refused < 0 {
				refused, err = i, e
			}
			s.announce()
		}
		words = rest
	}
	return refused, err
}

// take checks one command and queues it, if there is something to do later.
func (s *stream) take(c *cudart.Command, words []uint64) error {
	if s.sim.faults.Load() != nil {
		if err := s.sim.refusal(callOf(c.Op, c.Width), s.ctx.device.info.Ordinal); err != nil {
			return err
		}
	}
	if s.course != nil {
		s.issued = s.sim.virtual.issue(s, c)
	}
	switch c.Op {
	case cudart.OpRecord:
		return s.record(c.Event)
	case cudart.OpWait:
		return s.wait(c.Event)
	case cudart.OpFree:
		return s.free(c, words)
	case cudart.OpLaunch:
		return s.launch(c, words)
	case cudart.OpFill:
		if err := s.checkFill(c, words[3]); err != nil {
			return err
		}
	default:
		if err := s.checkCopy(c); err != nil {
			return err
		}
	}
	s.queue(item{op: c.Op}, words)
	return nil
}

// record takes effect now: the event names this point of the stream from here
// on. Only a time is left to be noted later.
func (s *stream) record(h cudart.Event) error {
	const call = "cuEventRecord"
	e := s.sim.eventTable.get(uintptr(h))
	if e == nil {
		return refuse(cudart.ErrInvalidHandle, call, "no event %#x", uintptr(h))
	}
	if e.ctx != s.ctx {
		return refuse(cudart.ErrInvalidHandle, call, "the event is of another context than the stream")
	}
	e.told.Store(s.issued)
	s.comeBehind()
	if !e.timing {
		e.record(point{s, s.submitted})
		return nil
	}
	p := point{s, s.submitted + 1}
	s.push(item{op: cudart.OpRecord, event: e, wait: p}, nil)
	e.record(p)
	return nil
}

// wait captures the latest record, of any context. One of this stream, or one
// that is done, needs no wait.
func (s *stream) wait(h cudart.Event) error {
	e := s.sim.eventTable.get(uintptr(h))
	if e == nil {
		return refuse(cudart.ErrInvalidHandle, "cuStreamWaitEvent", "no event %#x", uintptr(h))
	}
	if s.course != nil {
		s.issued = s.sim.virtual.learns(s.issued, e)
	}
	p := e.latest()
	if p.stream != nil { // a wait for nothing is nothing
		s.comeBehind()
	}
	if p.stream != nil && p.stream != s && (s.sim.exact || !p.done()) {
		s.push(item{op: cudart.OpWait, wait: p}, nil)
	}
	return nil
}

// free ends the allocation's life for the host at once, and for the device when
// the command runs.
func (s *stream) free(c *cudart.Command, words []uint64) error {
	m, ok := s.sim.memoryOf(c.Dst)
	if !ok || !m.retire(c.Dst) {
		return refuse(cudart.ErrInvalidValue, "cuMemFreeAsync", "%#x is not the address of live memory", c.Dst)
	}
	s.queue(item{op: c.Op}, words)
	s.lastFree.Store(s.submitted)
	return nil
}

// launch checks a launch as far as the driver does.
func (s *stream) launch(c *cudart.Command, words []uint64) error {
	const call = "cuLaunchKernel"
	f := s.sim.functionTable.get(uintptr(c.Function))
	if f == nil || f.ctx != s.ctx {
		return refuse(cudart.ErrInvalidHandle, call, "no function %#x in the stream's context", uintptr(c.Function))
	}
	if c.By.Exec != 0 {
		if g := s.sim.launchTable.get(c.By.Exec); g == nil || g.f != f {
			return refuse(cudart.ErrInvalidHandle, "cuGraphLaunch", "no executable graph %#x of kernel %s", c.By.Exec, f.name)
		}
	}
	if code, why := checkLaunch(&s.ctx.device.info, f.info, c.Grid, c.Block, c.Shared); code != 0 {
		return refuse(code, call, "kernel %s: %s", f.name, why)
	}
	s.queue(item{op: c.Op, function: f}, words)
	return nil
}

// callOf is the driver's entry point for a command.
func callOf(op cudart.Op, width int) string {
	switch op {
	case cudart.OpLaunch:
		return "cuLaunchKernel"
	case cudart.OpCopyHtoD:
		return "cuMemcpyHtoDAsync"
	case cudart.OpCopyDtoH:
		return "cuMemcpyDtoHAsync"
	case cudart.OpCopyDtoD:
		return "cuMemcpyDtoDAsync"
	case cudart.OpCopyPeer:
		return "cuMemcpyPeerAsync"
	case cudart.OpFill:
		switch width {
		case 2:
			return "cuMemsetD16Async"
		case 4:
			return "cuMemsetD32Async"
		}
		return "cuMemsetD8Async"
	case cudart.OpRecord:
		return "cuEventRecord"
	case cudart.OpWait:
		return "cuStreamWaitEvent"
	}
	return "cuMemFreeAsync"
}
