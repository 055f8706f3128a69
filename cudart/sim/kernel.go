package sim

import (
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
)

// runKernel calls the Go function of a kernel. However that ends, what it had
// resolved is let go, and a panic is a fault of the device.
func (s *stream) runKernel(f *function, c *cudart.Command) (l *loss) {
	returned := false
	defer func() {
		s.resolver.release()
		if returned {
			return
		}
		// Goexit recovers nothing and goes on unwinding behind this.
		l = faultOf(f.name, recover())
		s.sim.lose(l)
	}()
	s.call.Bind(*c, &s.resolver)
	f.run(&s.call)
	returned = true
	return nil
}

// resolver gives a running kernel the bytes behind its addresses.
type resolver struct {
	stream *stream
	pins   []pin
}

func (v *resolver) Resolve(p cudart.DevicePtr, bytes uint64) []byte {
	s := v.stream
	m, ok := s.sim.memoryOf(uint64(p))
	if !ok {
		panic(cudart.Fault{Text: fmt.Sprintf("%#x is no address of a device", uint64(p))})
	}
	at, b, pool := m.pin(uint64(p), bytes)
	if b == nil {
		panic(cudart.Fault{Text: fmt.Sprintf("%d bytes at %#x are not inside live memory", bytes, uint64(p))})
	}
	v.keep(at)
	if here := s.ctx.device; m != here.memory && !pool.opensTo(here.info.Ordinal) {
		panic(cudart.Fault{Text: fmt.Sprintf("%#x is memory of device %d, not open to device %d", uint64(p), m.ordinal, here.info.Ordinal)})
	}
	return b
}

// keep holds a pin until the kernel is done, once for each allocation.
func (v *resolver) keep(p pin) {
	for _, q := range v.pins {
		if p == q {
			p.release()
			return
		}
	}
	v.pins = append(v.pins, p)
}

func (v *resolver) release() {
	for _, p := range v.pins {
		p.release()
	}
	clear(v.pins)
	v.pins = v.pins[:0]
}
