package sim

import (
	"fmt"
	"slices"

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
		at := faultSite()
		p := recover()
		if _, over := p.(ended); over {
			return // begun again, or never ends: no fault
		}
		l = faultOf(f.name, p, at)
		s.sim.lose(l)
	}()
	s.call.Bind(*c, &s.resolver)
	f.run(&s.call)
	returned = true
	return nil
}

// resolver gives a running kernel the bytes behind its addresses.
type resolver struct {
	stream  *stream
	track   *track // nil but under Steps
	pins    []pin
	regions []*region
}

// Resolve finds device memory, and pinned memory at its host address: that is
// mapped for every device, as CUDA's unified addressing has it.
func (v *resolver) Resolve(p cudart.DevicePtr, bytes uint64) []byte {
	m, ok := v.stream.sim.memoryOf(uint64(p))
	if !ok {
		return v.host(uint64(p), bytes)
	}
	at, b, pool := m.pin(uint64(p), bytes)
	if b == nil {
		panic(outside(uint64(p), bytes))
	}
	v.keep(at)
	if here := v.stream.ctx.device; m != here.memory && !pool.opensTo(here.info.Ordinal) {
		panic(cudart.Fault{Text: fmt.Sprintf("%#x is memory of device %d, not open to device %d", uint64(p), m.ordinal, here.info.Ordinal)})
	}
	if own, ok := v.copied(uint64(p), bytes); ok {
		return own
	}
	return b
}

// copied is the bytes that the kernel works on instead, where a clock tears it.
func (v *resolver) copied(p, bytes uint64) ([]byte, bool) {
	if v.track == nil {
		return nil, false
	}
	return v.track.launch.copyOf(p, bytes)
}

func (v *resolver) host(p, bytes uint64) []byte {
	h := &v.stream.sim.pinned
	r, b := h.pin(p, bytes)
	if b == nil {
		panic(outside(p, bytes))
	}
	if slices.Contains(v.regions, r) {
		h.release(r)
	} else {
		v.regions = append(v.regions, r)
	}
	if own, ok := v.copied(p, bytes); ok {
		return own
	}
	return b
}

func outside(p, bytes uint64) cudart.Fault {
	return cudart.Fault{Text: fmt.Sprintf("%d bytes at %#x are not inside live memory", bytes, p)}
}

// keep holds a pin until the kernel is done, once for each allocation.
func (v *resolver) keep(p pin) {
	if slices.Contains(v.pins, p) {
		p.release()
		return
	}
	v.pins = append(v.pins, p)
}

func (v *resolver) release() {
	for _, p := range v.pins {
		p.release()
	}
	for _, r := range v.regions {
		v.stream.sim.pinned.release(r)
	}
	clear(v.pins)
	clear(v.regions)
	v.pins, v.regions = v.pins[:0], v.regions[:0]
}
