package check

import (
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check/internal/order"
)

// Submit is part of [cudart.Runtime].
func (c *Checker) Submit(ctx cudart.Context, h cudart.Stream, l *cudart.List) (int, error) {
	c.mu.Lock()
	defer c.unlock()
	refused, err := c.Runtime.Submit(ctx, h, l)
	s := c.find(ctx, h)
	switch {
	case s == nil && err != nil:
		return refused, err
	case s == nil:
		s = c.stream(ctx, h)
	}
	if x := c.contexts[ctx]; x == nil || s.s.Context() != x.c {
		c.e.Foreign(s.s, c.note("submission"))
	}
	if err == nil || refused >= 0 {
		c.follow(s, l.Words(), refused)
	}
	s.names = s.names[:0]
	return refused, err
}

// follow has the engine do what the stream was given. From refused on, where it is not
// negative, effects have been skipped.
func (c *Checker) follow(s *stream, words []uint64, refused int) {
	site := "" // of commands for which nobody has a better one
	if !s.named {
		site = c.note("").Site
	}
	names := s.names
	for i := 0; len(words) > 0; i++ {
		var cmd cudart.Command
		cmd, words = cudart.Decode(words)
		n := order.Note{Op: cmd.Op.String(), Site: site}
		for len(names) > 0 && names[0].Index < i {
			names = names[1:]
		}
		if len(names) > 0 && names[0].Index == i {
			n.Name, n.Site = names[0].Name, names[0].Site
		}
		switch {
		case refused < 0 || i < refused:
		case i == refused && !c.misused(s, &cmd), i > refused && cmd.Op.Effect():
			continue
		}
		c.command(s, n, &cmd)
	}
}

// command has the engine do one command.
func (c *Checker) command(s *stream, n order.Note, cmd *cudart.Command) {
	switch cmd.Op {
	case cudart.OpRecord:
		c.e.Record(s.s, n, c.event(s, cmd.Event))
	case cudart.OpWait:
		if e := c.events[cmd.Event]; e != nil {
			c.e.Wait(s.s, n, e)
		}
	case cudart.OpFree:
		if b, off := c.space.at(cmd.Dst); b != nil && off == 0 {
			c.e.Free(s.s, n, b)
			c.space.drop(cmd.Dst, b)
		}
	case cudart.OpLaunch:
		if f, ok := c.functions[cmd.Function]; ok {
			if n.Name == "" {
				n.Name = f.name
			}
			if f.ctx.c != s.s.Context() {
				c.e.Foreign(s.s, n)
			}
		}
		fallthrough
	default:
		c.accesses = c.accessesOf(c.accesses[:0], cmd)
		c.e.Run(s.s, n, c.accesses...)
	}
}

// event is the event of a handle; one that is not known, and that a stream was allowed
// to record, is adopted.
func (c *Checker) event(s *stream, h cudart.Event) *order.Event {
	e := c.events[h]
	if e == nil {
		e = s.s.Context().NewEvent("an event")
		c.events[h] = e
	}
	return e
}

// misused reports whether a command that was refused is one that the engine has
// something to say about.
func (c *Checker) misused(s *stream, cmd *cudart.Command) bool {
	switch cmd.Op {
	case cudart.OpRecord:
		e := c.events[cmd.Event]
		return e != nil && (e.Destroyed() || e.Context() != s.s.Context())
	case cudart.OpWait:
		e := c.events[cmd.Event]
		return e != nil && e.Destroyed()
	case cudart.OpFree:
		b, off := c.space.at(cmd.Dst)
		return b != nil && off == 0 && b.Freed()
	}
	c.accesses = c.accessesOf(c.accesses[:0], cmd)
	for _, a := range c.accesses {
		if a.Buffer.Freed() {
			return true
		}
	}
	return false
}

// accessesOf appends what a command touches of the memory that is known.
func (c *Checker) accessesOf(list []order.Access, cmd *cudart.Command) []order.Access {
	add := func(p, bytes uint64, act order.Act) {
		if b, off := c.space.at(p); b != nil && bytes > 0 {
			list = append(list, b.At(off, bytes, act))
		}
	}
	switch cmd.Op {
	case cudart.OpLaunch:
		for i := range cmd.Args() {
			switch a := cmd.Arg(i); {
			case a.Access.Writes():
				add(a.Slot, a.Bytes, order.Write)
			case a.Access == cudart.In:
				add(a.Slot, a.Bytes, order.Read)
			}
		}
	case cudart.OpFill:
		add(cmd.Dst, cmd.Bytes, order.Write)
	case cudart.OpCopyHtoD, cudart.OpCopyDtoH, cudart.OpCopyDtoD, cudart.OpCopyPeer:
		add(cmd.Src, cmd.Bytes, order.Read)
		add(cmd.Dst, cmd.Bytes, order.Write)
	}
	return list
}
