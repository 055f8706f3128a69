package order

// Event stands for what a stream had been given when it was last recorded.
type Event struct {
	Name string

	ctx       *Context
	recorded  bool
	destroyed bool
	last      moment
}

// NewEvent is a new event of the context.
func (c *Context) NewEvent(name string) *Event { return &Event{Name: name, ctx: c} }

// Context is the context that the event belongs to.
func (ev *Event) Context() *Context { return ev.ctx }

// Usable reports whether there is something to wait for.
func (ev *Event) Usable() bool { return ev.recorded && !ev.destroyed }

// Destroyed reports whether it has been.
func (ev *Event) Destroyed() bool { return ev.destroyed }

// Record records an event on a stream of its context. A record, or a wait, that is
// reported orders nothing, also where its stream is the legacy one.
func (e *Engine) Record(s *Stream, n Note, ev *Event) {
	switch {
	case ev.destroyed:
		e.about(BadHandle, s, n, ev)
	case ev.ctx != s.ctx:
		e.about(WrongContext, s, n, ev)
	default:
		s.next()
		ev.recorded, ev.last = true, s.now()
	}
}

// Wait has all that the stream is given later come after what the event's latest
// record captured. Any context's event will do.
func (e *Engine) Wait(s *Stream, n Note, ev *Event) {
	if e.usable(s, n, ev) {
		s.next()
		s.join(ev.last)
	}
}

// Query is a question of the host whether the event is complete, or the beginning of a
// wait for it. The Moment has passed when the answer is yes.
func (e *Engine) Query(n Note, ev *Event) Moment {
	if !e.usable(nil, n, ev) {
		return Moment{}
	}
	return Moment{[]moment{ev.last}}
}

// Destroy destroys an event. Waits issued earlier keep their order.
func (e *Engine) Destroy(n Note, ev *Event) {
	if ev.destroyed {
		e.about(BadHandle, nil, n, ev)
	}
	ev.destroyed, ev.last = true, moment{}
}

// usable reports whether there is something to wait for, and reports where not.
func (e *Engine) usable(s *Stream, n Note, ev *Event) bool {
	switch {
	case ev.destroyed:
		e.about(BadHandle, s, n, ev)
	case !ev.recorded:
		e.about(UnrecordedWait, s, n, ev)
	default:
		return true
	}
	return false
}

// Foreign reports a use of what belongs to another context than the stream.
func (e *Engine) Foreign(s *Stream, n Note) { e.about(WrongContext, s, n, nil) }

// about reports one command that is wrong by itself, of a stream or (nil) of the host.
// It has no number.
func (e *Engine) about(k Kind, s *Stream, n Note, ev *Event) {
	e.o.Report(Report{Kind: k, First: &Command{Note: n, Stream: s}, Event: ev})
}
