package actor

import (
	"fmt"
	"strings"

	"github.com/gpuactor/gpuactor/actor/internal/seam"
)

// conducted is a thread whose actors a runner serves: all threads of the system on one
// goroutine. What a thread does by itself in turn and park is the runner's affair.
type conducted struct{ t *Thread }

func init() {
	seam.Option = func(r seam.Runner) any { return Option(func(c *config) { c.runner = r }) }
	seam.Stop = func(sys any) { sys.(*System).stopAll() }
}

// conduct prepares a new thread: whoever kicks it wakes the runner.
func (t *Thread) conduct() {
	t.wake = t.sys.runner.Wake()
	t.sleep.Store(parked)
}

func (c conducted) Begin() error {
	c.t.d.Working(1)
	return c.Bind()
}

func (c conducted) Bind() error { return c.t.d.Bind() }

func (c conducted) Ready(to []seam.Actor) []seam.Actor {
	if c.t.incoming.Load() > 0 {
		c.t.take()
	}
	for i := range c.t.ready.len() {
		to = append(to, player{c.t.ready.at(i)})
	}
	return to
}

func (c conducted) All(to []seam.Actor) []seam.Actor {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	for s := range c.t.actors {
		if s.up.Load() {
			to = append(to, player{s})
		}
	}
	return to
}

func (c conducted) Serve(number uint64) {
	for i := range c.t.ready.len() {
		if c.t.ready.at(i).number == number {
			s := c.t.ready.take(i)
			c.t.serve(s)
			if s.gaveWay {
				s.gaveWay = false
				s.unpark()
			}
			return
		}
	}
}

func (c conducted) AfterGoexit() { c.t.afterGoexit() }

func (c conducted) Polls() bool { return c.t.polls.len() > 0 }

func (c conducted) Ask() bool { return c.t.ask(1) }

func (c conducted) MayEnd() bool { return c.t.mayEnd() }

func (c conducted) End() {
	c.t.ended = true
	_ = c.t.d.Unbind()
	c.t.sys.removeThread(c.t)
	c.t.d.Working(-1)
	close(c.t.done)
}

// conducted has a runner be asked at each call of the library whether the actor gives
// way to others: it is not running, as far as check knows.
func (s *Stream) conducted(next func() (struct{}, bool)) func() (struct{}, bool) {
	return func() (struct{}, bool) {
		s.running.Store(false)
		s.served.Store(true)
		defer s.served.Store(false)
		return next()
	}
}

// givesWay reports whether an actor that is not running, as far as check knows, is
// served by a runner, on this goroutine. Where the runner says so others come first.
func (s *Stream) givesWay() bool {
	if !s.served.Load() || !s.sys.runner.Here() {
		return false
	}
	if s.sys.runner.GiveWay() {
		s.gaveWay, s.parked = true, true
		s.co.yield()
		s.parked = false
	}
	return true
}

// player is an actor of such a thread.
type player struct{ s *Stream }

func (p player) Name() string   { return p.s.name }
func (p player) Number() uint64 { return p.s.number }

func (p player) Busy(yes bool) { p.s.running.Store(yes) }

// Waits says what keeps the actor's code from going on.
func (p player) Waits(chans *seam.Chans) string {
	s := p.s
	switch {
	case s.dead:
		return "has ended"
	case s.gaveWay || s.ready.Load():
		return "could go on"
	case s.poll != nil:
		return "waits for the GPU: " + s.owner.Waits()
	case s.asksFor != nil:
		return "waits for the answer of " + pidName(s.asksFor.to)
	case s.asked.task != nil && !s.asked.done:
		return fmt.Sprintf("waits for %q to do a %T", s.asked.on.name, s.asked.task)
	case s.blocked.Load() != nil:
		return fmt.Sprintf("waits to send a message to %q, whose mailbox is full", s.blocked.Load().s.name)
	case s.selects != nil:
		return "selects: " + s.selects.waits(chans)
	case s.wait.q != nil && s.wait.q.of != nil:
		return "waits " + s.wait.q.waits(chans)
	case s.suspended:
		return "has failed, and waits for its supervisor"
	case s.parked:
		return "rests until it is stopped"
	case s.fn == nil:
		return "waits for a message"
	}
	return "has ended its function"
}

// waits says what those in the queue wait for.
func (q *waitQueue) waits(chans *seam.Chans) string {
	c := q.of
	name := fmt.Sprintf("channel %d, of %s", chans.Number(c), c.of())
	switch {
	case c.Len() == 0:
		return "to receive from " + name + ", which is empty"
	case c.Len() == c.Cap():
		return "to send to " + name + fmt.Sprintf(", which is full (%d of %d)", c.Len(), c.Cap())
	}
	return "for " + name
}

// waits lists what the selector waits for.
func (sel *Selector) waits(chans *seam.Chans) string {
	var all []string
	for _, c := range sel.cases {
		if w := c.slot(); w != nil && w.q != nil {
			all = append(all, w.q.waits(chans))
		}
	}
	return strings.Join(all, "; or ")
}

// stopAll asks all actors to end.
func (sys *System) stopAll() {
	sys.mu.Lock()
	var all []*Stream
	for s := range sys.streams {
		all = append(all, s)
	}
	sys.mu.Unlock()
	for _, s := range all {
		s.ref.Stop()
	}
}
