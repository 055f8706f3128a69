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
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/actor/internal/seam"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/device"
)

// defaultThreads is how many threads a system makes at most, unless told otherwise:
// long before the 10,000 at which Go ends the process.
const defaultThreads = 1024

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
	mayNap  int32
	max     int
	runner  seam.Runner // nil: each thread is a goroutine
	debug   bool

	reclaimed atomic.Int64
	names     atomic.Uint64

	mu      sync.Mutex
	threads map[*Thread]struct{}
	streams map[*Stream]struct{}
	pids    map[string]*Stream
	owners  map[uint32]*Stream
	values  sync.Map // see Value; read without mu, written under it
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

// NewSystem opens a runtime and its devices.
func NewSystem(opts ...Option) (*System, error) {
	c := config{threads: defaultThreads, log: slog.Default(), order: firstCome{}}
	for _, o := range opts {
		o(&c)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	races, err := c.looksForRaces()
	if err != nil {
		return nil, err
	}
	sys := &System{
		rt: c.runtime, log: c.log, order: c.order, policy: c.policy, maySpin: maySpin(runtime.GOMAXPROCS(0)), mayNap: mayNap(runtime.GOMAXPROCS(0)), max: c.threads, debug: buffer.Debug, runner: c.runner,
		threads: map[*Thread]struct{}{}, streams: map[*Stream]struct{}{},
		pids: map[string]*Stream{}, owners: map[uint32]*Stream{},
	}
	if sys.rt == nil {
		c.open.Logger = c.log
		rt, err := cudart.Open(c.open)
		if err != nil {
			return nil, err
		}
		sys.rt, sys.ownRT = rt, true
	}
	if races {
		sys.rt = c.checked(sys.rt)
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
	err := device.CloseAll(sys.devices)
	if sys.ownRT {
		err = errors.Join(err, sys.rt.Close())
	}
	return err
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
	if v, ok := sys.values.Load(key); ok {
		return v // every transfer asks
	}
	sys.mu.Lock()
	defer sys.mu.Unlock()
	v, ok := sys.values.Load(key)
	if !ok {
		v = create()
		sys.values.Store(key, v)
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
