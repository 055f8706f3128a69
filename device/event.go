package device

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
)

// mark is an event that stands for a point of its stream.
//
// I1: a mark goes back to the pool only when its point is known complete and no
// submission that waits for it is still on its way (pins is zero).
type mark struct {
	event cudart.Event
	n     uint64
	pins  atomic.Int32 // raised under the stream's mu, lowered by the waiter after its submission
}

// eventPool keeps events without timing of one context. Streams draw on it and
// hold some of their own, so that it is not on the hot path.
type eventPool struct {
	d *Device

	mu   sync.Mutex
	free []*mark
	made int
}

func (p *eventPool) take() (*mark, error) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		m := p.free[n-1]
		p.free = p.free[:n-1]
		p.mu.Unlock()
		return m, nil
	}
	p.made++
	p.mu.Unlock()
	e, err := p.d.rt.CreateEvent(p.d.ctx, false)
	if err != nil {
		p.mu.Lock()
		p.made--
		p.mu.Unlock()
		return nil, fmt.Errorf("device: event on %v: %w", p.d, err)
	}
	return &mark{event: e}, nil
}

func (p *eventPool) give(ms ...*mark) {
	p.mu.Lock()
	p.free = append(p.free, ms...)
	p.mu.Unlock()
}

// closeEvents destroys the events. Everything is done by now, so that those of
// retired streams are back, or the device is lost, and they are not waited for.
func (d *Device) closeEvents() error {
	d.retired.sweep(math.MaxInt)
	return errors.Join(d.retired.abandon(), d.events.close())
}

func (p *eventPool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, m := range p.free {
		errs = append(errs, p.d.rt.DestroyEvent(p.d.ctx, m.event))
	}
	p.made -= len(p.free)
	p.free = nil
	return errors.Join(errs...)
}

// Events is how many events the device has made and not destroyed.
func (d *Device) Events() int {
	d.events.mu.Lock()
	defer d.events.mu.Unlock()
	return d.events.made
}
