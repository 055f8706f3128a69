package actor

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/buffer"
)

// failed lets supervision decide about an actor in message style whose handler
// panicked or called Goexit. Where that was its last handler, Stopping or Stopped,
// nothing is decided any more, and nothing is restarted (protoactor alone would
// restart it, or never tell its watchers): it is laid to rest here.
func (s *Stream) failed(msg any, why error) {
	s.handling = nil
	s.logFailure(why)
	if s.stopping || s.mail.over() {
		s.layToRest()
		return
	}
	s.mail.invoker.EscalateFailure(why, msg)
	// Last: whatever the one who asked does about it comes after what was decided.
	s.answer(proto.UnwrapEnvelopeSender(msg), &HandlerFailed{s.name, why})
}

// logFailure logs why the actor's code failed: at debug where it only says that the
// actor was to end.
func (s *Stream) logFailure(why error) {
	level, text := slog.LevelWarn, "actor: failed"
	if s.isCancellation(why) {
		level, text = slog.LevelDebug, "actor: cancelled"
	}
	args := []any{"actor", s.name, "error", why}
	if p, ok := why.(*PanicError); ok {
		args = append(args, "stack", string(p.Stack))
	}
	s.sys.log.Log(context.Background(), level, text, args...)
}

// isCancellation reports whether an error is the end of the actor's context, which is
// what blocking calls return then, and no failure.
func (s *Stream) isCancellation(err error) bool {
	ctx := s.Context()
	return ctx.Err() != nil &&
		(errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err()) || errors.Is(err, ErrStopped))
}

// answer sends to whoever asked, where they still wait: a future that has its
// answer is no longer registered, and a second one would overwrite the first.
func (s *Stream) answer(sender *PID, message any) {
	if sender == nil {
		return
	}
	if process, ok := s.sys.root.ProcessRegistry.Get(sender); ok {
		process.SendUserMessage(sender, message)
	}
}

// layToRest does what is left of protoactor's end of an actor: its children are
// stopped, its PID is free, its watchers and its parent are told.
func (s *Stream) layToRest() {
	ctx := s.mail.invoker.(proto.Context)
	for _, child := range ctx.Children() {
		s.sys.root.Root.Stop(child)
	}
	registry := s.sys.root.ProcessRegistry
	if !s.mail.over() {
		registry.Remove(ctx.Self())
		s.mail.look()
	}
	s.mail.mu.Lock()
	tell := append([]*PID(nil), s.mail.watched...)
	s.mail.mu.Unlock()
	if parent := ctx.Parent(); parent != nil {
		tell = append(tell, parent)
	}
	for _, who := range tell {
		if process, ok := registry.Get(who); ok {
			process.SendSystemMessage(who, &proto.Terminated{Who: ctx.Self()})
		}
	}
}

// receive makes the actor the owner of what a message carries.
func (s *Stream) receive(content any) error {
	if carriesNone(content) {
		return nil
	}
	s.handles.Reset()
	if err := collect(content, &s.handles); err != nil || s.handles.Len() == 0 {
		return err
	}
	return buffer.Take(s.owner, &s.handles)
}

// reclaim releases, in the order of the stream, whatever the actor still owns.
func (s *Stream) reclaim() { s.reclaimed(s.owner.Reclaim()) }

func (s *Stream) reclaimed(n int) {
	if n > 0 {
		s.sys.reclaimed.Add(int64(n))
		s.sys.log.Debug("actor: buffers reclaimed", "actor", s.name, "buffers", n)
	}
}

// bury ends an actor for good, when protoactor has and its code has returned.
func (t *Thread) bury(s *Stream) {
	s.dead = true
	s.stop(ErrStopped)
	s.refuseTasks()
	s.mail.shut()
	s.reclaim()
	s.owner.End()
	if err := s.cuda.Retire(); err != nil {
		s.sys.log.Error("actor: ending its stream", "actor", s.name, "error", err)
	}
	s.sys.forget(s)
	t.leave(s)
	s.ref.end()
}

// Strategies of supervision that the system uses itself.
var (
	// stopOnFailure is the default of functions: their error is their result.
	stopOnFailure = proto.NewOneForOneStrategy(0, 0, func(any) proto.Directive { return proto.StopDirective })
)

// guardian is who supervises an actor. protoactor's own end the process where they
// escalate or panic; this one stops the actor then.
type guardian struct{ inner SupervisorStrategy }

// HandleFailure is part of protoactor's SupervisorStrategy.
func (g *guardian) HandleFailure(sys *proto.ActorSystem, supervisor proto.Supervisor, child *PID, rs *proto.RestartStatistics, reason, message any) {
	above := rootSupervisor{supervisor, child, func() {
		if ours := systemOf(sys); ours != nil {
			// Where every failure is the end it has been logged as a failure.
			ours.ended(child, reason, g.inner != stopOnFailure)
		}
	}}
	defer func() {
		if v := recover(); v != nil {
			sys.Logger().Error("actor: a supervisor strategy panicked", "about", pidName(child), "panic", v, "stack", string(debug.Stack()))
			above.StopChildren(child)
		}
	}()
	g.inner.HandleFailure(sys, above, child, rs, reason, message)
}

// ended notes that supervision has given an actor up: the failure is its end, and
// so its result. A failure that supervision survives, or that a stop overtakes, is not.
func (sys *System) ended(child *PID, reason any, log bool) {
	name := pidName(child)
	if s := sys.byPID(child); s != nil {
		name = s.name
		if err, ok := reason.(error); ok && s.fn == nil {
			s.ref.setResult(err)
		}
	}
	if log {
		sys.log.Error("actor: ended after failures", "actor", name, "error", reason)
	}
}

// rootSupervisor is a guardian as a supervisor: it knows of no siblings and has
// nobody above it.
type rootSupervisor struct {
	proto.Supervisor
	child *PID
	ended func() // tells that it is stopped for good
}

// Children is part of protoactor's Supervisor.
func (r rootSupervisor) Children() []*PID { return []*PID{r.child} }

// EscalateFailure is part of protoactor's Supervisor.
func (r rootSupervisor) EscalateFailure(_, _ any) { r.StopChildren(r.child) }

// StopChildren is part of protoactor's Supervisor.
func (r rootSupervisor) StopChildren(pids ...*PID) {
	r.ended()
	r.Supervisor.StopChildren(pids...)
}
