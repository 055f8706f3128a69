package actor

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/device"
)

// Stream is a stream actor as its own code sees it: a CUDA stream, and the right to
// use it. Its methods, and every call that takes it, belong to the actor's function
// or handler; from elsewhere they fail with a [*ThreadError]: always while the
// actor is not running, and with GPUACTOR_DEBUG=1 always.
type Stream struct {
	sys    *System
	t      *Thread
	ref    *Ref
	name   string
	number uint64 // of all actors that the system has started, from 1
	cuda   *device.Stream
	owner  *buffer.Owner
	mail   *mailbox
	fn     func(*Stream) error // channel style; nil: message style
	base   context.Context     // what the actor's contexts derive from

	// The run loop's and the coroutine's, on the actor's thread.
	co        coroutine
	parked    bool  // the coroutine waits in park
	live      bool  // a function is running or suspended
	start     bool  // a function is to be started
	held      []any // Stop and Restart, until the function has returned
	dead      bool
	handling  any // the message in the handler
	wait      waiter
	handles   buffer.Handles
	poll      func() (bool, error)
	pollErr   error
	polled    bool      // the thread's polls hold it
	suspended bool      // by supervision: no user messages
	selects   *Selector // in which it waits
	asksFor   *inquiry  // whose answer it waits for
	gaveWay   bool      // it could go on
	strategy  SupervisorStrategy

	ready   atomic.Bool             // somebody has woken the coroutine
	up      atomic.Bool             // has its PID and may be served
	asks    atomic.Int32            // length of tasks, so that none is seen without the lock
	queued  atomic.Bool             // on its way to the thread's ready queue
	running atomic.Bool             // the coroutine is resumed
	served  atomic.Bool             // so it is, by a runner
	blocked atomic.Pointer[mailbox] // whose credit it waits for
	goid    atomic.Uint64
	peer    atomic.Pointer[PID] // of a stream actor, which it has sent to

	mu       sync.Mutex
	ctx      context.Context
	cancel   context.CancelCauseFunc
	stopping bool // Stop has been handled, or is; the actor's thread writes it
	tasks    queue[*request]
	gone     bool // tasks are refused
	asked    request
	ended    atomic.Bool // the context has ended
}

// check refuses callers that are not the actor's own code.
func (s *Stream) check() error {
	if !s.running.Load() && !s.givesWay() {
		return &ThreadError{s.name, "it is not running now"}
	}
	if buffer.Debug && s.goid.Load() != goroutineID() {
		return &ThreadError{s.name, "another goroutine called"}
	}
	return nil
}

// goroutineID reads the number from the head of a stack trace: slow, and for
// debugging only.
func goroutineID() (id uint64) {
	var buf [64]byte
	head := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	for _, c := range head {
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + uint64(c-'0')
	}
	return id
}

// Owner makes a Stream a [buffer.User].
func (s *Stream) Owner() (*buffer.Owner, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return s.owner, nil
}

// Name is the name that the actor was started under.
func (s *Stream) Name() string { return s.name }

// Device is the device whose stream it is.
func (s *Stream) Device() *device.Device { return s.cuda.Device() }

// System is the system that the actor belongs to.
func (s *Stream) System() *System { return s.sys }

// Ref is how others reach the actor.
func (s *Stream) Ref() *Ref { return s.ref }

// CUDA is the stream below, for packages that issue commands. Its rules are those
// of package device.
func (s *Stream) CUDA() *device.Stream { return s.cuda }

// Context ends as soon as the actor shall stop or be restarted. Every blocking call
// of this library fails then; watch it in anything else that blocks. Handlers of
// Stopping and Stopped have one of their own, which no further Stop ends.
func (s *Stream) Context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ctx
}

// Launch issues a launch of a kernel on the actor's stream. It does not wait. What
// is wrong with the launch is an error here, naming the kernel and the parameter;
// what the driver refuses is the error of the call that submits.
func (s *Stream) Launch(k *device.Kernel, g device.Grid, args ...device.Arg) error {
	if err := s.check(); err != nil {
		return err
	}
	if k == nil {
		return fmt.Errorf("actor: %s launches nil, which is no kernel", s.name)
	}
	return s.cuda.Launch(s.owner.ID, k, g, args...)
}

// Synchronize submits what is pending and suspends the actor until its stream has
// done everything it was given, or its context ends.
func (s *Stream) Synchronize() error {
	if err := s.check(); err != nil {
		return err
	}
	p, err := s.cuda.Flush(true)
	if err != nil {
		return err
	}
	return s.owner.AwaitPoint(p)
}

// Submit gives the driver what has been issued. Nobody has to call it: whatever
// leaves the actor, or blocks it, submits first.
func (s *Stream) Submit() error {
	if err := s.check(); err != nil {
		return err
	}
	_, err := s.cuda.Flush(false)
	return err
}

// RawStream is what [Stream.Raw] lends: handles for another library.
type RawStream struct {
	Context cudart.Context
	Stream  cudart.Stream
	Device  int // the GPU's ordinal
}

// Raw submits what is pending and lends the stream to f, for calls of other
// libraries on the same stream; uses names the buffers that they touch, and how.
// Afterwards the actor's context must be current on the thread as before.
func (s *Stream) Raw(f func(RawStream) error, uses ...device.Arg) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := s.cuda.Uses(s.owner.ID, uses...); err != nil {
		return err
	}
	if _, err := s.cuda.Flush(false); err != nil {
		return err
	}
	d := s.cuda.Device()
	err := f(RawStream{d.Context(), s.cuda.Handle(), d.Info().Ordinal})
	s.cuda.Touched()
	if cur, curErr := d.Runtime().Current(); curErr != nil || cur != d.Context() {
		bind := d.Bind()
		return fmt.Errorf("actor: %s: the context was changed inside Raw and has been restored (%v, %v): %w", s.name, curErr, bind, cudart.ErrInvalidContext)
	}
	return err
}

// unpark lets the coroutine go on from park. Any goroutine may call it, also
// without need: whoever parks looks again.
func (s *Stream) unpark() {
	s.ready.Store(true)
	s.schedule()
}

// schedule sees to it that the thread serves the actor soon.
func (s *Stream) schedule() {
	if !s.up.Load() {
		return // protoactor posts before it has registered the PID; started schedules
	}
	if s.queued.CompareAndSwap(false, true) {
		s.t.post(s)
	}
}

// park suspends the actor's code until unpark. Its callers look for themselves
// whether what they wait for has come.
func (s *Stream) park() {
	if s.ready.Swap(false) {
		return
	}
	s.parked = true
	s.co.yield()
	s.parked = false
}

// cause is why the actor's context has ended, nil while it has not.
func (s *Stream) cause() error {
	if !s.ended.Load() {
		return nil
	}
	return context.Cause(s.Context())
}

// await suspends the actor until done says so; the run loop asks it.
func (s *Stream) await(done func() (bool, error)) error {
	if ok, err := done(); ok || err != nil {
		return err
	}
	s.poll, s.pollErr = done, nil
	s.t.polling(s)
	for s.poll != nil {
		if err := s.cause(); err != nil {
			s.poll = nil
			return err
		}
		s.park()
	}
	return s.pollErr
}

// renew gives the actor a fresh context, for its first life and after a restart.
func (s *Stream) renew() {
	ctx, cancel := context.WithCancelCause(s.base)
	s.mu.Lock()
	old := s.cancel
	s.ctx, s.cancel = ctx, cancel
	s.ended.Store(false)
	s.mu.Unlock()
	if old != nil {
		old(nil)
	}
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		current := s.ctx == ctx
		if current {
			s.ended.Store(true)
		}
		s.mu.Unlock()
		if current {
			s.unpark()
		}
	})
}

// stop ends the context, so that whatever blocks in the library returns.
func (s *Stream) stop(why error) {
	s.mu.Lock()
	cancel := s.cancel
	s.mu.Unlock()
	cancel(why)
}

// endLife ends the context of a life that a Stop or a Restart ends. Any goroutine may
// call it.
func (s *Stream) endLife() {
	s.mu.Lock()
	cancel := s.cancel
	if s.stopping {
		cancel = nil // the handlers of the end come to theirs
	}
	s.mu.Unlock()
	if cancel != nil {
		cancel(ErrStopped)
	}
}

// lastLife is the time of Stopping and Stopped, in message style.
func (s *Stream) lastLife() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.renew()
}

// StreamOf is the stream of the message-style actor whose handler runs; nil for an
// actor that is none of this library's.
func StreamOf(ctx Context) *Stream {
	sys := systemOf(ctx.ActorSystem())
	if sys == nil {
		return nil
	}
	return sys.byPID(ctx.Self())
}

var _ proto.Mailbox = (*mailbox)(nil)

// Rest suspends the actor until its context ends: for one that only serves others.
func (s *Stream) Rest() {
	for s.cause() == nil {
		s.park()
	}
}
