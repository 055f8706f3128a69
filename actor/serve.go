package actor

import (
	"runtime/debug"

	proto "github.com/asynkron/protoactor-go/actor"
)

// burst is how many messages an actor handles before another one has its turn.
const burst = 64

// serve gives an actor its turn: requests from other threads, then its own code,
// then the driver gets what was issued.
func (t *Thread) serve(s *Stream) {
	if s.dead {
		return
	}
	if s.asks.Load() > 0 {
		t.serveTasks(s)
	}
	if s.fn != nil {
		t.serveFunction(s)
	} else {
		t.serveMessages(s)
	}
	t.settle(s)
}

// serveTasks serves the requests of others. A task that calls runtime.Goexit ends the
// turn, and nothing else.
func (t *Thread) serveTasks(s *Stream) {
	served := false
	defer func() {
		if !served {
			t.settle(s)
		}
	}()
	s.runTasks()
	served = true
}

// settle ends a turn: what it left is submitted, the actor is buried where it has
// ended, and queued where there is more for it. Until here it counts as queued, so
// that who posts to an actor that runs touches nothing of its thread.
func (t *Thread) settle(s *Stream) {
	if s.cuda.Unsettled() {
		if _, err := s.cuda.Flush(false); err != nil {
			s.sys.log.Error("actor: commands were refused", "actor", s.name, "error", err)
		}
	}
	if !s.live && s.mail.over() {
		t.bury(s)
		return
	}
	s.queued.Store(false)
	if s.wants() && s.queued.CompareAndSwap(false, true) { // A3: after the store, or what came before it were missed
		if t.incoming.Load() > 0 {
			t.take() // who was posted meanwhile comes first
		}
		t.ready.push(s)
	}
}

// wants reports whether there is something that the actor's next turn would do.
func (s *Stream) wants() bool {
	switch {
	case s.asks.Load() > 0:
		return true
	case s.fn != nil:
		return !s.mail.empty() || s.live && s.ready.Load()
	case s.parked:
		return s.ready.Load() || s.mail.ends() && s.outlives()
	}
	return !s.mail.empty() && (!s.suspended || s.mail.hasSystem()) && !s.mail.over()
}

// resume runs the actor's coroutine until it yields or ends.
func (t *Thread) resume(s *Stream) {
	t.current = s
	s.running.Store(true)
	s.co.resume()
	s.running.Store(false)
	t.current = nil
}

// serveFunction serves an actor in channel style. protoactor's messages are
// handled here, between the function's resumptions and never inside one, since
// the function holds no state of protoactor's; a stop or a restart waits until
// it has returned.
func (t *Thread) serveFunction(s *Stream) {
	for {
		t.systemMessages(s)
		if s.mail.over() && !s.live {
			return
		}
		for range burst {
			msg, ok := s.mail.popUser()
			if !ok {
				break
			}
			t.invoke(s, msg, s.mail.invoker.InvokeUserMessage)
		}
		switch {
		case s.start && !s.live && !s.suspended:
			s.start, s.live = false, true
			s.co.begin(s.function)
			t.resume(s)
		case s.live && s.ready.Swap(false):
			t.resume(s)
		default:
			return
		}
		if !s.co.alive() {
			t.functionEnded(s)
		}
	}
}

// systemMessages handles those that may be handled now.
func (t *Thread) systemMessages(s *Stream) {
	for {
		msg, ok := s.mail.popSystem()
		if !ok {
			return
		}
		if s.live && isEnd(msg) {
			s.held = append(s.held, msg)
			s.endLife()
			continue
		}
		t.systemMessage(s, msg)
	}
}

func (t *Thread) systemMessage(s *Stream, msg any) {
	switch msg.(type) {
	case *proto.SuspendMailbox:
		s.suspended = true
	case *proto.ResumeMailbox:
		s.suspended = false
		if !s.live && !s.start {
			s.ref.Stop() // nothing is left of the function that could be resumed
		}
	case *proto.Restart:
		s.renew()
		t.invoke(s, msg, s.mail.invoker.InvokeSystemMessage)
	default:
		t.invoke(s, msg, s.mail.invoker.InvokeSystemMessage)
	}
	s.mail.look()
}

// invoke runs a handler of protoactor's. A panic there is not the function's.
func (t *Thread) invoke(s *Stream, msg any, handler func(any)) {
	defer func() {
		if v := recover(); v != nil {
			s.sys.log.Error("actor: a handler panicked", "actor", s.name, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	handler(msg)
}

// function is the coroutine of an actor in channel style.
func (s *Stream) function() {
	if s.sys.debug {
		s.goid.Store(goroutineID())
	}
	s.ref.result = ErrGoexit // unless it returns or panics
	defer func() {
		if v := recover(); v != nil {
			s.ref.result = &PanicError{s.name, v, debug.Stack()}
		}
	}()
	s.ref.result = s.fn(s)
}

// functionEnded reclaims what the function left, and lets supervision decide
// where it failed.
func (t *Thread) functionEnded(s *Stream) {
	s.live = false
	err := s.ref.result
	s.reclaim()
	held := s.held
	s.held = nil
	// The context ends as soon as a Stop or a Restart is posted: the function may have
	// seen that before the message is handled.
	asked, cancelled := len(held) > 0 || s.mail.ends(), s.isCancellation(err)
	if err != nil && (cancelled || !asked) {
		s.logFailure(err)
	}
	switch {
	case asked:
		if cancelled {
			s.ref.result = nil
		}
	case err == nil || cancelled:
		s.sys.root.Root.Stop(s.ref.pid) // its result is why its context ended
	default:
		s.mail.invoker.EscalateFailure(err, nil)
	}
	for _, msg := range held {
		t.systemMessage(s, msg)
	}
}

// functionActor is what protoactor sees of an actor in channel style.
type functionActor struct{ s *Stream }

func (a functionActor) Receive(ctx Context) {
	switch msg := ctx.Message().(type) {
	case *Started:
		a.s.start = true
	case proto.SystemMessage, proto.AutoReceiveMessage:
	default:
		a.s.sys.log.Warn("actor: a message to an actor that receives from channels only", "actor", a.s.name)
		a.s.mail.undeliverable(&proto.MessageEnvelope{Message: msg, Sender: ctx.Sender()})
	}
}

// serveMessages serves an actor in message style: its coroutine takes messages from
// the mailbox itself, so that a handler may block anywhere.
func (t *Thread) serveMessages(s *Stream) {
	if s.parked {
		if s.mail.ends() && s.outlives() {
			s.endLife() // one that began after the message was posted
		}
		if !s.ready.Swap(false) {
			return
		}
	}
	if !s.co.alive() {
		s.co.begin(s.handle)
	}
	t.resume(s)
}

// outlives reports whether the actor's context goes on although a Stop or a Restart
// is queued, which shall end it.
func (s *Stream) outlives() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.stopping && s.ctx.Err() == nil
}

// handle is the coroutine of an actor in message style.
func (s *Stream) handle() {
	if s.sys.debug {
		s.goid.Store(goroutineID())
	}
	for {
		for range burst {
			if !s.handleOne() {
				break
			}
		}
		if s.mail.over() {
			return
		}
		s.co.yield()
	}
}

// handleOne handles one message, system messages first.
func (s *Stream) handleOne() bool {
	if msg, ok := s.mail.popSystem(); ok {
		s.handleSystem(msg)
		return true
	}
	if s.suspended || s.mail.over() {
		return false
	}
	msg, ok := s.mail.popUser()
	if ok {
		s.handleUser(msg)
	}
	return ok
}

func (s *Stream) handleSystem(msg any) {
	s.handling = msg
	defer func() {
		s.mail.look()
		if v := recover(); v != nil {
			s.failed(msg, &PanicError{s.name, v, debug.Stack()})
		}
	}()
	switch msg.(type) {
	case *proto.SuspendMailbox:
		s.suspended = true
	case *proto.ResumeMailbox:
		s.suspended = false
	case *proto.Restart:
		left := s.owner.Owned()
		s.renew()
		s.mail.invoker.InvokeSystemMessage(msg)
		s.reclaimed(s.owner.ReclaimThese(left)) // what the life before left, and its Restarting handler did not release
	case *proto.Stop:
		if !s.stopping {
			s.lastLife()
		}
		if !s.suspended {
			s.ref.setResult(nil) // a failure that nobody has decided about is not what ends it
		}
		s.mail.invoker.InvokeSystemMessage(msg)
	default:
		s.mail.invoker.InvokeSystemMessage(msg)
	}
	s.handling = nil
}

func (s *Stream) handleUser(msg any) {
	s.handling = msg
	defer func() {
		if v := recover(); v != nil {
			s.failed(msg, &PanicError{s.name, v, debug.Stack()})
		}
	}()
	_, content, _ := proto.UnwrapEnvelope(msg)
	if err := s.receive(content); err != nil {
		s.failed(msg, err)
		return
	}
	s.mail.invoker.InvokeUserMessage(msg)
	s.handling = nil
}

// afterGoexit goes on where an actor's code has called runtime.Goexit.
func (t *Thread) afterGoexit() {
	s := t.current
	if s == nil {
		return
	}
	t.current = nil
	s.running.Store(false)
	s.parked = false
	s.co = coroutine{around: s.co.around}
	if s.fn != nil {
		t.functionEnded(s)
	} else {
		s.failed(s.handling, ErrGoexit)
	}
	t.settle(s)
}
