package actor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/device"
)

// Ref is how an actor is reached from outside. Its methods may be called from any
// goroutine.
type Ref struct {
	name string
	pid  *PID
	s    *Stream
	done chan struct{}

	result error // of the function's last run: the actor's thread writes it before done is closed
	mu     sync.Mutex
	last   error
}

// Name is the name that the actor was started under; the PID's is made unique.
func (r *Ref) Name() string { return r.name }

// PID is the actor's address in protoactor.
func (r *Ref) PID() *PID { return r.pid }

// Device is the device that the actor runs on.
func (r *Ref) Device() *device.Device { return r.s.t.d }

// Stop asks the actor to end: its context ends, and so does the actor once its
// code has returned.
func (r *Ref) Stop() { r.s.sys.root.Root.Stop(r.pid) }

// Done is closed when the actor has ended and what it held has been given back.
func (r *Ref) Done() <-chan struct{} { return r.done }

// Wait waits for the end of the actor, or of ctx. It returns how its function
// ended, nil where it was stopped; for an actor in message style the last reason
// of failure, where that ended it.
func (r *Ref) Wait(ctx context.Context) error {
	select {
	case <-r.done:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.last
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *Ref) setResult(err error) {
	r.mu.Lock()
	r.last = err
	r.mu.Unlock()
}

func (r *Ref) end() {
	if r.s.fn != nil {
		r.setResult(r.result)
	}
	close(r.done)
}

// SpawnOption is an option of [System.Go] and [System.Spawn].
type SpawnOption func(*spawnConfig)

type spawnConfig struct {
	strategy SupervisorStrategy
	base     context.Context
}

// WithSupervision decides what becomes of the actor when it fails. By default a
// function that fails is stopped, its error being its result; an actor in message
// style is restarted, ten times in ten seconds at most, as protoactor has it.
// An escalation from the root stops the actor.
func WithSupervision(s SupervisorStrategy) SpawnOption {
	return func(c *spawnConfig) { c.strategy = s }
}

// WithContext makes the actor's context derive from ctx: when ctx ends, so do the
// actor's blocking calls.
func WithContext(ctx context.Context) SpawnOption { return func(c *spawnConfig) { c.base = ctx } }

// Go starts an actor in channel style: fn is straight-line code that sends to and
// receives from channels, on a stream of its own. The actor ends when fn returns;
// when it is stopped, its context ends first.
func (sys *System) Go(name string, at Placement, fn func(*Stream) error, opts ...SpawnOption) (*Ref, error) {
	if fn == nil {
		return nil, fmt.Errorf("actor: start %s: its function is nil", name)
	}
	s, err := sys.newStream(name, at, fn, opts)
	if err != nil {
		return nil, err
	}
	props := PropsFromProducer(func() Receiver { return functionActor{s} })
	return sys.spawn(s, props, stopOnFailure)
}

// Spawn starts an actor in message style: props make a protoactor actor, whose
// Receive runs on the actor's thread and may block in this library anywhere. Inside
// it, [StreamOf] gives the stream. The supervision of props governs its children.
func (sys *System) Spawn(name string, at Placement, props *Props, opts ...SpawnOption) (*Ref, error) {
	if props == nil {
		return nil, fmt.Errorf("actor: start %s: its props are nil", name)
	}
	s, err := sys.newStream(name, at, nil, opts)
	if err != nil {
		return nil, err
	}
	return sys.spawn(s, props, DefaultSupervisor())
}

// newStream makes an actor that has no PID yet, on its thread or a new one.
func (sys *System) newStream(name string, at Placement, fn func(*Stream) error, opts []SpawnOption) (*Stream, error) {
	c := spawnConfig{base: context.Background()}
	for _, o := range opts {
		o(&c)
	}
	if c.base == nil {
		return nil, fmt.Errorf("actor: start %s: WithContext was given nil", name)
	}
	s := &Stream{sys: sys, name: name, fn: fn, base: c.base}
	// A name is never used twice: a PID that somebody kept must not reach a
	// namesake.
	s.number = sys.names.Add(1)
	id := name + "$" + strconv.FormatUint(s.number, 36)
	s.ref = &Ref{name: name, pid: proto.NewPID(sys.root.Address(), id), s: s, done: make(chan struct{})}
	s.mail = &mailbox{s: s}
	s.wait.s = s
	if sys.runner != nil {
		s.co.around = s.conducted
	}
	s.strategy = c.strategy
	if err := sys.place(s, at); err != nil {
		return nil, fmt.Errorf("actor: start %s: %w", name, err)
	}
	s.owner = buffer.NewOwner(name, s.cuda)
	s.owner.Await = s.await
	s.owner.Context = s.Context
	s.renew()
	err := sys.enter(s)
	if err == nil {
		err = s.t.join(s)
	}
	if err != nil {
		sys.abandon(s)
		return nil, fmt.Errorf("actor: start %s: %w", name, err)
	}
	return s, nil
}

// place gives the actor its thread and its CUDA stream.
func (sys *System) place(s *Stream, at Placement) error {
	switch at := at.(type) {
	case nil:
		return errors.New("its placement is nil: give a device, or what On or Sharing makes")
	case sharing:
		if at.ref == nil {
			return errors.New("Sharing was given nil")
		}
		to := at.ref.s
		if to.sys != sys {
			return errors.New("the other actor belongs to another system")
		}
		if to.isGone() {
			return ErrStopped
		}
		if !to.t.shared {
			return errors.New("the other actor has a thread to itself: start both on a thread made by NewThread")
		}
		s.t, s.cuda = to.t, to.cuda
		return s.cuda.Share()
	case *Thread:
		if at == nil {
			return errors.New("On was given nil")
		}
		if at.sys != sys {
			return errors.New("the thread belongs to another system")
		}
		s.t = at
	default:
		t, err := sys.newThread(at.Device())
		if err != nil {
			return err
		}
		s.t = t
	}
	err := s.t.d.Do(func() (err error) {
		s.cuda, err = s.t.d.NewStream(s.name)
		return err
	})
	if err != nil && s.cuda != nil { // it is there, and the thread has not its context back
		err = errors.Join(err, s.t.d.Do(s.cuda.Retire))
	}
	if err != nil {
		s.t.abandon()
	}
	return err
}

// spawn gives the actor its PID and starts it.
func (sys *System) spawn(s *Stream, props *Props, strategy SupervisorStrategy) (*Ref, error) {
	if s.strategy != nil {
		strategy = s.strategy
	}
	props = props.Clone(
		proto.WithMailbox(func() proto.Mailbox { return s.mail }),
		proto.WithGuardian(guardianFor(strategy)),
		proto.WithSenderMiddleware(s.watchSends),
	)
	spawned := false
	defer func() {
		if !spawned { // also where the producer of props panics
			sys.abandon(s)
		}
	}()
	if _, err := sys.root.Root.SpawnNamed(props, s.ref.pid.Id); err != nil {
		return nil, fmt.Errorf("actor: start %s: %w", s.name, err)
	}
	spawned = true
	return s.ref, nil
}

// started is called when protoactor has registered the actor, before anything is
// handled.
func (s *Stream) started() {
	if !s.t.shared {
		s.t.start()
	}
	s.up.Store(true)
	s.schedule()
	if s.sys.isClosing() {
		s.ref.Stop() // the close may have come too early to do it
	}
}

// abandon undoes newStream.
func (sys *System) abandon(s *Stream) {
	s.stop(ErrStopped)
	sys.forget(s)
	s.owner.End()
	s.t.leave(s)
	if err := s.t.d.Do(s.cuda.Retire); err != nil {
		sys.log.Error("actor: ending a stream", "actor", s.name, "error", err)
	}
	s.t.abandon()
	close(s.ref.done)
}

var guardians sync.Map // SupervisorStrategy → *guardian

// guardianFor is one guardian for each strategy: protoactor keeps them for ever.
func guardianFor(s SupervisorStrategy) SupervisorStrategy {
	g, _ := guardians.LoadOrStore(s, &guardian{s})
	return g.(*guardian)
}
