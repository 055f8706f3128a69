package check

import (
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check/internal/order"
)

// find is the stream of a handle, nil where it is not known.
func (c *Checker) find(ctx cudart.Context, h cudart.Stream) *stream {
	if x := c.contexts[ctx]; x != nil && x.legacy != nil && x.legacyH == h {
		return x.legacy
	}
	return c.streams[h]
}

// stream is find for a stream that the runtime has accepted: one that is not known is
// adopted.
func (c *Checker) stream(ctx cudart.Context, h cudart.Stream) *stream {
	s := c.find(ctx, h)
	if s == nil {
		s = c.newStream(c.context(ctx), h, order.NonBlocking)
	}
	return s
}

func (c *Checker) newStream(x *context, h cudart.Stream, m order.Mode) *stream {
	x.streams++
	s := &stream{s: x.c.NewStream(fmt.Sprintf("stream %d of %s", x.streams, x.c.Name), m)}
	c.streams[h] = s
	return s
}

// CreateStream is part of [cudart.Runtime].
func (c *Checker) CreateStream(ctx cudart.Context) (cudart.Stream, error) {
	c.mu.Lock()
	defer c.unlock()
	h, err := c.Runtime.CreateStream(ctx)
	if err == nil {
		c.newStream(c.context(ctx), h, order.NonBlocking)
	}
	return h, err
}

// CreateBlockingStream is part of [cudart.DefaultStreams], not supported where the
// runtime below has none.
func (c *Checker) CreateBlockingStream(ctx cudart.Context) (cudart.Stream, error) {
	d, ok := c.Runtime.(cudart.DefaultStreams)
	if !ok {
		return 0, &cudart.Error{Code: cudart.ErrNotSupported, Call: "cuStreamCreate", Text: "the runtime has no blocking streams"}
	}
	c.mu.Lock()
	defer c.unlock()
	h, err := d.CreateBlockingStream(ctx)
	if err == nil {
		c.newStream(c.context(ctx), h, order.Blocking)
	}
	return h, err
}

// LegacyStream is part of [cudart.DefaultStreams]; 0 where the runtime below has none.
func (c *Checker) LegacyStream(ctx cudart.Context) cudart.Stream {
	d, ok := c.Runtime.(cudart.DefaultStreams)
	if !ok {
		return 0
	}
	c.mu.Lock()
	defer c.unlock()
	h := d.LegacyStream(ctx)
	if x := c.context(ctx); h != 0 && x.legacy == nil {
		x.legacy, x.legacyH = &stream{s: x.c.Legacy("the legacy stream")}, h
	}
	return h
}

// DestroyStream is part of [cudart.Runtime].
func (c *Checker) DestroyStream(ctx cudart.Context, h cudart.Stream) error {
	c.mu.Lock()
	defer c.unlock()
	err := c.Runtime.DestroyStream(ctx, h)
	if s := c.streams[h]; err == nil && s != nil {
		s.s.End()
		delete(c.streams, h)
	}
	return err
}

// SynchronizeStream is part of [cudart.Runtime].
func (c *Checker) SynchronizeStream(ctx cudart.Context, h cudart.Stream) error {
	var m order.Moment
	c.mu.Lock()
	if s := c.find(ctx, h); s != nil {
		m = s.s.Now()
	}
	c.mu.Unlock()
	err := c.Runtime.SynchronizeStream(ctx, h)
	c.passed(m, err)
	return err
}

// NameStream is part of [cudart.Namer].
func (c *Checker) NameStream(h cudart.Stream, name string) {
	c.mu.Lock()
	defer c.unlock()
	if s := c.streams[h]; s != nil {
		s.s.Name = name
	}
	if n, ok := c.Runtime.(cudart.Namer); ok {
		n.NameStream(h, name)
	}
}

// NameCommands is part of [cudart.Namer].
func (c *Checker) NameCommands(h cudart.Stream, names []cudart.CommandName) {
	c.mu.Lock()
	defer c.unlock()
	if s := c.streams[h]; s != nil {
		s.named, s.names = true, append(s.names[:0], names...)
	}
	if n, ok := c.Runtime.(cudart.Namer); ok {
		n.NameCommands(h, names)
	}
}
