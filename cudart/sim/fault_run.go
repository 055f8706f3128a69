package sim

import (
	"math"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// What rules do to a command that has come to run.

// hangs gives the stream away for good, where the command at its head is never to
// end: a loss, or Close, gets it back (I3, I6). Nothing blocks, whatever the clock.
// A clock may ask about a command more than once: the first answer stays.
func (f *faults) hangs(s *stream, it *item) bool {
	n := s.before + uint64(s.at) + 1
	if s.asked == n {
		return false
	}
	s.asked = n
	stuck := false
	switch {
	case it.op == cudart.OpLaunch:
		each(f, func(x *Rule, k KernelFault) {
			stuck = k.Hangs && k.about(it.function.name) && x.acts(k.When) > 0 || stuck
		})
	case it.op >= cudart.OpCopyHtoD && it.op <= cudart.OpCopyPeer:
		c, _ := cudart.Decode(s.current.words[it.from:it.to])
		if from, to, ok := linkOf(&c); ok {
			each(f, func(x *Rule, l LinkFault) {
				stuck = l.Does == Hangs && l.about(from, to) && x.acts(l.When) > 0 || stuck
			})
		}
	}
	return stuck && s.sim.never.hold(s, math.MaxUint64)
}

// breaks is the loss that a command is, by a rule: nil mostly.
func (f *faults) breaks(s *stream, it *item) (l *loss) {
	if it.spoils {
		return nil // not a command of the program
	}
	each(f, func(x *Rule, d DeviceFault) {
		if d.Running && d.Device == s.ctx.device.info.Ordinal && x.acts(d.when()) > 0 && l == nil {
			l = d.loss()
		}
	})
	if it.op == cudart.OpLaunch {
		each(f, func(x *Rule, k KernelFault) {
			if k.Code != 0 && k.about(it.function.name) && x.acts(k.When) > 0 && l == nil {
				l = &loss{k.Code, "kernel " + it.function.name + ": by a rule of the simulation"}
			}
		})
	}
	return l
}

// runSlowly runs a kernel, and in real time takes longer where a rule has it so. A loss
// ends that. In virtual time the clock has seen to it.
func (s *stream) runSlowly(f *function, c *cudart.Command) *loss {
	if _, real := s.sim.exec.(*goroutines); !real {
		return s.runKernel(f, c)
	}
	factor, extra := s.sim.slowness(f.name)
	began := time.Now()
	l := s.runKernel(f, c)
	more := time.Duration((factor-1)*float64(time.Since(began))) + extra
	if l != nil || more <= 0 {
		return l
	}
	t := time.NewTimer(more)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.sim.over:
	}
	return nil
}
