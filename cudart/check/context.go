package check

import (
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check/internal/order"
)

// context is a context, and its legacy stream, whose handle may be the same in all.
type context struct {
	c       *order.Context
	legacy  *stream
	legacyH cudart.Stream
	retains int // of a primary one
	streams int // made so far
}

// stream is a stream, and what the commands are called that it is given next.
type stream struct {
	s     *order.Stream
	named bool // somebody names its commands
	names []cudart.CommandName
}

// function is a kernel, and the context that it was loaded in.
type function struct {
	name string
	ctx  *context
}

// context is the context of a handle; one that is not known is adopted.
func (c *Checker) context(h cudart.Context) *context {
	x := c.contexts[h]
	if x == nil {
		x = c.newContext(h, fmt.Sprintf("context %#x", uintptr(h)))
	}
	return x
}

func (c *Checker) newContext(h cudart.Context, name string) *context {
	x := &context{c: c.e.NewContext(name)}
	c.contexts[h] = x
	return x
}

// RetainPrimary is part of [cudart.Runtime].
func (c *Checker) RetainPrimary(device int) (cudart.Context, error) {
	c.mu.Lock()
	defer c.unlock()
	h, err := c.Runtime.RetainPrimary(device)
	if err == nil {
		if c.contexts[h] == nil {
			c.newContext(h, fmt.Sprintf("device %d", device))
		}
		c.contexts[h].retains++
		c.primaries[device] = h
	}
	return h, err
}

// ReleasePrimary is part of [cudart.Runtime].
func (c *Checker) ReleasePrimary(device int) error {
	c.mu.Lock()
	defer c.unlock()
	err := c.Runtime.ReleasePrimary(device)
	h := c.primaries[device]
	if x := c.contexts[h]; x != nil && err == nil {
		if x.retains--; x.retains == 0 {
			c.forget(h, x)
		}
	}
	return err
}

// CreateContext is part of [cudart.Runtime].
func (c *Checker) CreateContext(device int) (cudart.Context, error) {
	c.mu.Lock()
	defer c.unlock()
	h, err := c.Runtime.CreateContext(device)
	if err == nil {
		c.newContext(h, fmt.Sprintf("context %#x of device %d", uintptr(h), device))
	}
	return h, err
}

// DestroyContext is part of [cudart.Runtime].
func (c *Checker) DestroyContext(ctx cudart.Context) error {
	c.mu.Lock()
	x := c.contexts[ctx]
	c.mu.Unlock()
	err := c.Runtime.DestroyContext(ctx) // waits for the context's work
	c.mu.Lock()
	defer c.unlock()
	if err == nil && x != nil {
		c.forget(ctx, x)
	}
	return err
}

// forget forgets a context that is no more, with what was made in it: the handle may be
// another one's by now. Its work is over, and its pinned memory is freed.
func (c *Checker) forget(h cudart.Context, x *context) {
	x.c.Now().Passed()
	for _, r := range c.space.pinnedOf(x) {
		c.e.Host(c.note("end of the context"), r.b.All(order.Free))
		c.space.drop(r.from, r.b)
	}
	if c.contexts[h] == x {
		delete(c.contexts, h)
	}
	for k, s := range c.streams {
		if s.s.Context() == x.c {
			delete(c.streams, k)
		}
	}
	for k, e := range c.events {
		if e.Context() == x.c {
			delete(c.events, k)
		}
	}
	for k, f := range c.functions {
		if f.ctx == x {
			delete(c.functions, k)
		}
	}
}

// SynchronizeContext is part of [cudart.Runtime].
func (c *Checker) SynchronizeContext(ctx cudart.Context) error {
	var m order.Moment
	c.mu.Lock()
	if x := c.contexts[ctx]; x != nil {
		m = x.c.Now()
	}
	c.mu.Unlock()
	err := c.Runtime.SynchronizeContext(ctx)
	c.passed(m, err)
	return err
}

// passed has the host know what a call has waited for.
func (c *Checker) passed(m order.Moment, err error) {
	if err != nil {
		return
	}
	c.mu.Lock()
	m.Passed()
	c.mu.Unlock()
}

// Function is part of [cudart.Runtime].
func (c *Checker) Function(ctx cudart.Context, m cudart.Module, name string) (cudart.Function, cudart.FunctionInfo, error) {
	c.mu.Lock()
	defer c.unlock()
	f, info, err := c.Runtime.Function(ctx, m, name)
	if err == nil {
		c.functions[f] = function{name, c.context(ctx)}
	}
	return f, info, err
}
