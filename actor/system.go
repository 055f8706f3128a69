// Package actor runs CUDA streams as actors: share GPU memory by communicating.
//
// Each stream belongs to an actor, whose code runs on a locked OS thread with the
// device's context current. Buffers have one owner; sending one through a [Chan] or
// in a message hands it over, with the point of its last use, and the receiver's
// stream waits for that point on the GPU. Nobody can touch what they gave away.
//
//	sys, err := actor.NewSystem()
//	defer sys.Close(ctx)
//	items := actor.NewChan[buffer.Buf[float32]](8)
//	g := sys.Group(ctx)
//	g.Go("producer", sys.Device(0), func(s *actor.Stream) error {
//		defer items.Close()
//		b, err := buffer.New[float32](s, n)
//		if err != nil {
//			return err
//		}
//		if err := s.Launch(fill, device.Linear(n), b.Out(), device.F32(1)); err != nil {
//			return err
//		}
//		return items.Send(s, b)
//	})
//	g.Go("consumer", sys.Device(0), func(s *actor.Stream) error {
//		for b, err := range items.All(s) { ... }
//		return nil
//	})
//	err = g.Wait()
//
// Threads. The actor's code is a coroutine that its thread's run loop resumes, and
// that yields wherever this library blocks. runtime.LockOSThread held across such a
// call is a fatal error of the process; balanced between two of them it is
// harmless. A plain channel receive, or I/O, blocks the thread and everybody on it.
package actor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/device"
)

// defaultThreads is how many threads a system makes at most, unless told otherwise:
// long before the 10,000 at which Go ends the process.
const defaultThreads = 1024

type config struct {
	runtime  cudart.Runtime
	open     cudart.Options
	device   device.Options
	threads  int
	log      *slog.Logger
	protoSys *proto.ActorSystem
	order    Order
	policy   Policy
}

// Option is an option of [NewSystem].
type Option func(*config)

// WithRuntime chooses the runtime by name: auto, nvidia or sim. Without it,
// GPUACTOR_RUNTIME chooses, and auto is the default (see [cudart.Open]).
func WithRuntime(name string) Option { return func(c *config) { c.open.Name = name } }

// WithOpenRuntime uses a runtime that the caller has opened, and closes.
func WithOpenRuntime(rt cudart.Runtime) Option { return func(c *config) { c.runtime = rt } }

// WithDevices uses at most n devices; 0 is all.
func WithDevices(n int) Option { return func(c *config) { c.device.Max = n } }

// WithVirtual makes n contexts on the first GPU stand in for n devices: their order
// is that of devices, their speed is not. 0 is off.
func WithVirtual(n int) Option { return func(c *config) { c.device.Virtual = n } }

// WithBudget bounds the device memory of each device, in bytes, to what the device
// has at most; 0 is nine tenths of what is free.
func WithBudget(bytes uint64) Option { return func(c *config) { c.device.Budget = bytes } }

// WithTrace has t told of what streams are given.
func WithTrace(t device.Trace) Option { return func(c *config) { c.device.Trace = t } }

// WithMaxThreads bounds the threads of the system; one more is [ErrTooManyThreads].
func WithMaxThreads(n int) Option { return func(c *config) { c.threads = n } }

// WithLogger logs there, and protoactor too.
func WithLogger(l *slog.Logger) Option { return func(c *config) { c.log = l } }

// WithActorSystem uses a protoactor system that the program has already.
func WithActorSystem(s *proto.ActorSystem) Option { return func(c *config) { c.protoSys = s } }

// WithOrder decides what runs next on a thread.
func WithOrder(o Order) Option { return func(c *config) { c.order = o } }

// System holds the devices and the actors. Its methods may be called from any
// goroutine.
type System struct {
	rt      cudart.Runtime
	ownRT   bool
	devices []*device.Device
	root    *proto.ActorSystem
	log     *slog.Logger
	order   Order
	policy  Policy
	maySpin int32
	max     int
	debug   bool

	reclaimed atomic.Int64
	names     atomic.Uint64

	mu      sync.Mutex
	threads map[*Thread]struct{}
	streams map[*Stream]struct{}
	pids    map[string]*Stream
	owners  map[uint32]*Stream
	values  map[any]any
	closing bool
	closed  bool
}

var systems sync.Map // *proto.ActorSystem → *System

func systemOf(p *proto.ActorSystem) *System {
	if s, ok := systems.Load(p); ok {
		return s.(*System)
	}
	return nil
}

// check refuses options that mean nothing.
func (c *config) check() error {
	for _, n := range []struct {
		option       string
		value, least int
	}{
		{"WithDevices", c.device.Max, 0},
		{"WithVirtual", c.device.Virtual, 0},
		{"WithMaxThreads", c.threads, 1},
	} {
		if n.value < n.least {
			return fmt.Errorf("actor: %s(%d): at least %d", n.option, n.value, n.least)
		}
	}
	if c.log == nil {
		return errors.New("actor: WithLogger was given nil")
	}
	if c.order == nil {
		return errors.New("actor: WithOrder was given nil")
	}
	return nil
}

// fits refuses a budget that a device has not got.
func (c *config) fits(devices []*device.Device) error {
	for _, d := range devices {
		if has := d.Info().Memory; c.device.Budget > has {
			return fmt.Errorf("actor: WithBudget(%d): %v has %d bytes of memory", c.device.Budget, d, has)
		}
	}
	return nil
}

// NewSystem opens a runtime and its devices.
func NewSystem(opts ...Option) (*System, error) {
	c := config{threads: defaultThreads, log: slog.Default(), order: firstCome{}}
	for _, o := range opts {
		o(&c)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	sys := &System{
		rt: c.runtime, log: c.log, order: c.order, policy: c.policy, maySpin: maySpin(runtime.GOMAXPROCS(0)), max: c.threads, debug: buffer.Debug,
		threads: map[*Thread]struct{}{}, streams: map[*Stream]struct{}{},
		pids: map[string]*Stream{}, owners: map[uint32]*Stream{}, values: map[any]any{},
	}
	if sys.rt == nil {
		c.open.Logger = c.log
		rt, err := cudart.Open(c.open)
		if err != nil {
			return nil, err
		}
		sys.rt, sys.ownRT = rt, true
	}
	devs, err := device.Open(sys.rt, c.device)
	if err != nil {
		if sys.ownRT {
			err = errors.Join(err, sys.rt.Close())
		}
		return nil, err
	}
	sys.devices = devs
	if err := c.fits(devs); err != nil {
		return nil, errors.Join(err, sys.free())
	}
	if sys.root = c.protoSys; sys.root == nil {
		sys.root = proto.NewActorSystem(proto.WithLoggerFactory(func(*proto.ActorSystem) *slog.Logger {
			return slog.New(quiet{c.log.Handler()})
		}))
	}
	if _, taken := systems.LoadOrStore(sys.root, sys); taken {
		return nil, errors.Join(errors.New("actor: the protoactor system has stream actors of another System"), sys.free())
	}
	return sys, nil
}

// free gives back the devices and the runtime.
func (sys *System) free() error {
	var errs []error
	for _, d := range sys.devices {
		errs = append(errs, d.Close())
	}
	if sys.ownRT {
		errs = append(errs, sys.rt.Close())
	}
	return errors.Join(errs...)
}

// Device is the ith device; it panics where there is none.
func (sys *System) Device(i int) *device.Device { return sys.devices[i] }

// Devices are the devices of the system.
func (sys *System) Devices() []*device.Device { return append([]*device.Device(nil), sys.devices...) }

// Runtime is the runtime below.
func (sys *System) Runtime() cudart.Runtime { return sys.rt }

// Root is where protoactor's own calls start: futures, events, other actors.
func (sys *System) Root() *RootContext { return sys.root.Root }

// ActorSystem is protoactor's system.
func (sys *System) ActorSystem() *proto.ActorSystem { return sys.root }

// Load loads modules on all devices, ahead of their first launch.
func (sys *System) Load(modules ...*device.Module) error {
	for _, d := range sys.devices {
		if err := d.Load(modules...); err != nil {
			return err
		}
	}
	return nil
}

// Value is the system's value under a key, made by create where there is none yet.
// Packages above keep what belongs to a system there.
func (sys *System) Value(key any, create func() any) any {
	sys.mu.Lock()
	defer sys.mu.Unlock()
	v, ok := sys.values[key]
	if !ok {
		v = create()
		sys.values[key] = v
	}
	return v
}

// Counts are how many of something the system holds now.
type Counts struct {
	Actors, Threads, Streams, Events int
	Reclaimed                        int64 // buffers that actors left behind, ever
}

// Counts reports them.
func (sys *System) Counts() Counts {
	sys.mu.Lock()
	c := Counts{Actors: len(sys.streams), Threads: len(sys.threads), Reclaimed: sys.reclaimed.Load()}
	sys.mu.Unlock()
	for _, d := range sys.devices {
		c.Streams += d.Streams()
		c.Events += d.Events()
	}
	return c
}

func (sys *System) addThread(t *Thread) error {
	sys.mu.Lock()
	defer sys.mu.Unlock()
	if sys.closing {
		return ErrSystemClosed
	}
	if len(sys.threads) >= sys.max {
		return fmt.Errorf("%w: the system has %d, which is its bound (see WithMaxThreads, On)", ErrTooManyThreads, len(sys.threads))
	}
	sys.threads[t] = struct{}{}
	return nil
}

func (sys *System) removeThread(t *Thread) {
	sys.mu.Lock()
	defer sys.mu.Unlock()
	delete(sys.threads, t)
}

func (sys *System) byPID(p *PID) *Stream {
	if p == nil {
		return nil
	}
	sys.mu.Lock()
	defer sys.mu.Unlock()
	if s := sys.pids[p.Id]; s != nil && s.ref.pid.Address == p.Address {
		return s
	}
	return nil
}

// actors is how many there are.
func (sys *System) actors() int {
	sys.mu.Lock()
	defer sys.mu.Unlock()
	return len(sys.streams)
}

func (sys *System) byOwner(id uint32) *Stream {
	sys.mu.Lock()
	defer sys.mu.Unlock()
	return sys.owners[id]
}

func (sys *System) enter(s *Stream) error {
	sys.mu.Lock()
	defer sys.mu.Unlock()
	if sys.closing {
		return ErrSystemClosed
	}
	sys.streams[s] = struct{}{}
	sys.owners[s.owner.ID] = s
	sys.pids[s.ref.pid.Id] = s
	return nil
}

func (sys *System) isClosing() bool {
	sys.mu.Lock()
	defer sys.mu.Unlock()
	return sys.closing
}

func (sys *System) forget(s *Stream) {
	sys.mu.Lock()
	defer sys.mu.Unlock()
	delete(sys.streams, s)
	delete(sys.owners, s.owner.ID)
	delete(sys.pids, s.ref.pid.Id)
}

// Close stops all actors, waits for them until ctx ends, and frees everything. Where
// some are still running then, nothing is freed, and a [*CloseError] names them; a
// later Close goes on. A second Close does nothing.
func (sys *System) Close(ctx context.Context) error {
	sys.mu.Lock()
	sys.closing = true
	if sys.closed {
		sys.mu.Unlock()
		return nil
	}
	streams := make([]*Stream, 0, len(sys.streams))
	for s := range sys.streams {
		streams = append(streams, s)
	}
	sys.mu.Unlock()
	for _, s := range streams {
		sys.root.Root.Stop(s.ref.pid)
	}
	for _, s := range streams {
		select {
		case <-s.ref.done:
		case <-ctx.Done():
			return sys.stuck(context.Cause(ctx))
		}
	}
	if err := sys.endThreads(ctx); err != nil {
		return err
	}
	sys.mu.Lock()
	closed := sys.closed
	sys.closed = true
	sys.mu.Unlock()
	if closed {
		return nil
	}
	if n := buffer.ReclaimDevices(sys.devices...); n > 0 {
		sys.reclaimed.Add(int64(n))
		sys.log.Warn("actor: buffers that nobody released were freed at close", "buffers", n)
	}
	systems.Delete(sys.root)
	return sys.free()
}

func (sys *System) endThreads(ctx context.Context) error {
	sys.mu.Lock()
	threads := make([]*Thread, 0, len(sys.threads))
	for t := range sys.threads {
		threads = append(threads, t)
	}
	sys.mu.Unlock()
	for _, t := range threads {
		t.finish()
	}
	for _, t := range threads {
		select {
		case <-t.done:
		case <-ctx.Done():
			return sys.stuck(context.Cause(ctx))
		}
	}
	return nil
}

func (sys *System) stuck(why error) error {
	sys.mu.Lock()
	defer sys.mu.Unlock()
	e := &CloseError{Err: why}
	for s := range sys.streams {
		state := "waiting"
		if s.running.Load() {
			state = "running"
		}
		e.Stuck = append(e.Stuck, s.name+" ("+state+")")
	}
	return e
}

var zeroPoint device.Point
