package order

// Mode is how a stream stands to the legacy stream of its context.
type Mode uint8

// The modes of streams.
const (
	NonBlocking Mode = iota // not ordered with the legacy stream
	Blocking                // ordered with the legacy stream
	Legacy                  // the legacy stream
)

// Context is one context of a device: what streams and events belong to.
type Context struct {
	Name string

	e        *Engine
	legacy   *Stream
	streams  map[*Stream]struct{}
	ended    clock // of streams that ended; see Stream.End
	blocking []*Stream
	endedB   clock // of blocking ones
}

// NewContext is a new context.
func (e *Engine) NewContext(name string) *Context {
	return &Context{Name: name, e: e, streams: map[*Stream]struct{}{}}
}

// Stream is a queue of commands that run in order.
type Stream struct {
	Name string
	Mode Mode

	ctx   *Context
	id    uint64
	n     uint64 // of the last command
	known uint64 // up to here the host knows it complete: the host clock's entry
	after clock  // of other streams
}

// NewStream is a new stream of the context. Legacy gives [Context.Legacy].
func (c *Context) NewStream(name string, m Mode) *Stream {
	if m == Legacy {
		return c.Legacy(name)
	}
	s := c.stream(name, m)
	if m == Blocking {
		c.blocking = append(c.blocking, s)
	}
	return s
}

// Legacy is the context's legacy stream; the name counts the first time.
func (c *Context) Legacy(name string) *Stream {
	if c.legacy == nil {
		c.legacy = c.stream(name, Legacy)
	}
	return c.legacy
}

func (c *Context) stream(name string, m Mode) *Stream {
	c.e.streams++
	s := &Stream{Name: name, Mode: m, ctx: c, id: c.e.streams}
	c.streams[s] = struct{}{}
	return s
}

// Context is the context that the stream belongs to.
func (s *Stream) Context() *Context { return s.ctx }

// End says that the stream will be given nothing more. What it was given still runs.
func (s *Stream) End() {
	c := s.ctx
	delete(c.streams, s)
	m := s.now()
	c.ended = join(c.ended, m.clock(), nil)
	for i, b := range c.blocking {
		if b == s {
			c.blocking = append(c.blocking[:i], c.blocking[i+1:]...)
			c.endedB = join(c.endedB, m.clock(), nil)
			break
		}
	}
}

// next numbers a command of the stream, which comes after what the legacy stream's
// rules say.
func (s *Stream) next() tick {
	switch l := s.ctx.legacy; {
	case s.Mode == Blocking && l != nil:
		s.join(l.now())
	case s.Mode == Legacy:
		for _, b := range s.ctx.blocking {
			s.join(b.now())
		}
		s.after = join(s.after, s.ctx.endedB, s)
		s.ctx.endedB = nil // in the legacy stream's clock from now on
	}
	s.n++
	return tick{s, s.n}
}

// now is the stream with everything that it has been given.
func (s *Stream) now() moment { return moment{tick{s, s.n}, s.after} }

// clock is the moment as one clock.
func (m moment) clock() clock { return join(m.after, clock{m.at}, nil) }

// join has what the stream is given from now on come after m (O1).
func (s *Stream) join(m moment) {
	if s.comesAfter(m.at) {
		return
	}
	s.after = join(s.after, m.clock(), s)
}

// comesAfter reports whether what the stream is given next comes after t.
func (s *Stream) comesAfter(t tick) bool { return t.s == s || s.after.has(t) }

// Moment is what has to have happened when a call that waits returns. It is taken
// before the wait, and given to [Moment.Passed] after it. The zero Moment is nothing.
type Moment struct{ all []moment }

// Passed has the host know that everything of it is complete.
func (m Moment) Passed() {
	for _, x := range m.all {
		x.learn()
	}
}

// Now is all that the stream has been given; the legacy stream's is what was given to
// blocking streams, too.
func (s *Stream) Now() Moment {
	m := Moment{[]moment{s.now()}}
	if s.Mode == Legacy {
		for _, b := range s.ctx.blocking {
			m.all = append(m.all, b.now())
		}
		m.all = append(m.all, moment{after: s.ctx.endedB})
	}
	return m
}

// Now is all that was given to streams of the context.
func (c *Context) Now() Moment {
	var m Moment
	for s := range c.streams {
		m.all = append(m.all, s.now())
	}
	m.all = append(m.all, moment{after: c.ended})
	return m
}
