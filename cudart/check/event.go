package check

import (
	"fmt"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check/internal/order"
)

// destroyedKept is how many destroyed events are remembered whose handles have not been
// given out again; the oldest are forgotten.
const destroyedKept = 1024

// oldEvent is an event that has been destroyed.
type oldEvent struct {
	h cudart.Event
	e *order.Event
}

// CreateEvent is part of [cudart.Runtime].
func (c *Checker) CreateEvent(ctx cudart.Context, timing bool) (cudart.Event, error) {
	c.mu.Lock()
	defer c.unlock()
	h, err := c.Runtime.CreateEvent(ctx, timing)
	if err == nil {
		c.events[h] = c.context(ctx).c.NewEvent(fmt.Sprintf("event %#x", uintptr(h)))
	}
	return h, err
}

// DestroyEvent is part of [cudart.Runtime].
func (c *Checker) DestroyEvent(ctx cudart.Context, h cudart.Event) error {
	c.mu.Lock()
	defer c.unlock()
	err := c.Runtime.DestroyEvent(ctx, h)
	e := c.events[h]
	switch {
	case e == nil:
	case e.Destroyed():
		c.e.Destroy(c.note("destroy"), e)
	case err == nil:
		c.e.Destroy(c.note("destroy"), e)
		c.keepDestroyed(oldEvent{h, e})
	}
	return err
}

func (c *Checker) keepDestroyed(o oldEvent) {
	c.destroyed = append(c.destroyed, o)
	if len(c.destroyed) < 2*destroyedKept {
		return
	}
	for _, o := range c.destroyed[:destroyedKept] {
		if c.events[o.h] == o.e {
			delete(c.events, o.h)
		}
	}
	c.destroyed = append(c.destroyed[:0], c.destroyed[destroyedKept:]...)
}

// QueryEvent is part of [cudart.Runtime].
func (c *Checker) QueryEvent(h cudart.Event) (bool, error) {
	c.mu.Lock()
	defer c.unlock()
	var m order.Moment
	if e := c.events[h]; e != nil {
		n := order.Note{Op: "query"}
		if !e.Usable() {
			n = c.note(n.Op)
		}
		m = c.e.Query(n, e)
	}
	done, err := c.Runtime.QueryEvent(h)
	if done && err == nil {
		m.Passed()
	}
	return done, err
}

// Elapsed is part of [cudart.Runtime].
func (c *Checker) Elapsed(start, end cudart.Event) (time.Duration, error) {
	c.mu.Lock()
	defer c.unlock()
	d, err := c.Runtime.Elapsed(start, end)
	for _, h := range [...]cudart.Event{start, end} {
		if e := c.events[h]; e != nil && (err == nil || e.Destroyed()) {
			m := c.e.Query(c.note("elapsed time"), e)
			if err == nil {
				m.Passed()
			}
		}
	}
	return d, err
}
