package actor

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
)

// threads is how many OS threads the process has; 0 where the system does not say.
func threads() int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0
	}
	return len(tasks)
}

// held is what must come back to where it was.
type held struct{ threads, goroutines, streams, events, actors, reserved int }

func heldBy(sys *System) held {
	n := sys.Counts()
	return held{
		threads: n.Threads, goroutines: runtime.NumGoroutine(), streams: n.Streams, events: n.Events, actors: n.Actors,
		reserved: int(sys.Device(0).Memory().Reserved),
	}
}

func TestT4_ManyActorsOneAfterTheOther(t *testing.T) {
	total, atOnce := 10_000, 500
	if testing.Short() || raceEnabled {
		total, atOnce = 600, 100
	}
	sys := newSystem(t)
	round := func() {
		var ready, refs = make(chan struct{}, atOnce), make([]*Ref, atOnce)
		for i := range refs {
			if i%2 == 0 {
				refs[i] = start(t, sys, "function", sys.Device(0), func(s *Stream) error {
					b, err := filled(s, 1)
					ready <- struct{}{}
					s.Rest()
					return errors.Join(err, b.Release(s))
				})
				continue
			}
			refs[i] = spawn(t, sys, "handler", sys.Device(0), func(ctx Context) {
				if _, ok := ctx.Message().(*Started); ok {
					_, err := filled(StreamOf(ctx), 1) // left to be reclaimed
					if err != nil {
						t.Error(err)
					}
					ready <- struct{}{}
				}
			})
		}
		for range refs {
			await(t, "all are at work", ready)
		}
		for _, r := range refs {
			r.Stop()
		}
		finish(t, refs...)
	}
	round() // what is cached is made now
	settled := func() held {
		var h held
		until(t, "threads end", func() bool { h = heldBy(sys); return h.threads == 0 && h.streams == 0 })
		return h
	}
	before, osThreads := settled(), threads()
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	heap := mem.HeapInuse
	for range total/atOnce - 1 {
		round()
	}
	after := settled()
	until(t, "goroutines end", func() bool { after = heldBy(sys); return after.goroutines <= before.goroutines+2 })
	// Events and memory are cached, and do not grow with the number of actors.
	if after.events > before.events+atOnce || after.reserved > 2*before.reserved || after.actors != 0 {
		t.Errorf("%+v before, %+v after", before, after)
	}
	if now := threads(); now > osThreads+20 {
		t.Errorf("%d OS threads before, %d after", osThreads, now)
	}
	runtime.GC()
	runtime.ReadMemStats(&mem)
	if grown := int64(mem.HeapInuse) - int64(heap); grown > 32<<20 {
		t.Errorf("the heap has grown by %d KiB", grown>>10)
	}
}

func TestT4_TooManyAtOnce(t *testing.T) {
	sys := newSystem(t, WithMaxThreads(5))
	var refs []*Ref
	rest := func(s *Stream) error { s.Rest(); return nil }
	for range 4 {
		refs = append(refs, start(t, sys, "rests", sys.Device(0), rest))
	}
	th := sharedThread(t, sys)
	if _, err := sys.Go("one more", sys.Device(0), rest); !errors.Is(err, ErrTooManyThreads) || !strings.Contains(err.Error(), "one more") {
		t.Errorf("Go: %v", err)
	}
	if _, err := sys.Spawn("one more", sys.Device(0), PropsFromFunc(func(Context) {})); !errors.Is(err, ErrTooManyThreads) {
		t.Errorf("Spawn: %v", err)
	}
	if _, err := sys.NewThread(sys.Device(0)); !errors.Is(err, ErrTooManyThreads) {
		t.Errorf("NewThread: %v", err)
	}
	for range 20 { // a shared thread takes any number
		refs = append(refs, start(t, sys, "shares", On(th), rest))
	}
	if n := sys.Counts(); n.Threads != 5 || n.Actors != 24 || n.Streams != 24 {
		t.Errorf("%+v", n)
	}
	refs[0].Stop()
	finish(t, refs[0])
	until(t, "its thread ends", func() bool { return sys.Counts().Threads == 4 })
	refs[0] = start(t, sys, "now there is room", sys.Device(0), rest)
	for _, r := range refs {
		r.Stop()
	}
	finish(t, refs...)
}

// unclosed is a system that the test closes itself.
func unclosed(t *testing.T, opts ...Option) *System {
	t.Helper()
	return unclosedOn(t, openRuntime(t), opts...)
}

func unclosedOn(t *testing.T, rt cudart.Runtime, opts ...Option) *System {
	t.Helper()
	t.Cleanup(func() { _ = rt.Close() })
	all := []Option{WithOpenRuntime(rt), WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))}
	if onDriver() {
		all = append(all, WithVirtual(2))
	}
	sys, err := NewSystem(append(all, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

func TestT6_CloseWithWorkInFlight(t *testing.T) {
	sys := unclosed(t)
	live := buffer.Live()
	items, full := NewChan[Buf](4), make(chan struct{})
	var g *gate
	worker, err := sys.Go("worker", sys.Device(0), func(s *Stream) (err error) {
		if g, err = newGate(s); err != nil {
			return err
		}
		for range 4 {
			b, err := filled(s, 1)
			if err != nil {
				return err
			}
			if err := items.Send(s, b); err != nil { // nobody will receive
				return err
			}
		}
		if err := g.hold(s); err != nil {
			return err
		}
		close(full)
		return s.Synchronize()
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the channel is full", full)
	suspended(t, worker)
	go func() { g.open() }()
	if err := sys.Close(soon(t)); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := worker.Wait(soon(t)); err != nil {
		t.Error(err)
	}
	if n := buffer.Live(); n != live {
		t.Errorf("%d buffers are left", n-live)
	}
	if err := sys.Close(soon(t)); err != nil {
		t.Errorf("a second Close: %v", err)
	}
	rest := func(s *Stream) error { s.Rest(); return nil }
	if _, err := sys.Go("late", sys.Device(0), rest); !errors.Is(err, ErrSystemClosed) {
		t.Errorf("Go after Close: %v", err)
	}
	if _, err := sys.NewThread(sys.Device(0)); !errors.Is(err, ErrSystemClosed) {
		t.Errorf("NewThread after Close: %v", err)
	}
}

// A handler that does not return is named when the close's time is over; when it has
// returned, a later close goes on.
func TestT6_CloseWithSomebodyWhoDoesNotReturn(t *testing.T) {
	for name, at := range map[string]func(*System) Placement{
		"on its own thread":  func(sys *System) Placement { return sys.Device(0) },
		"on a shared thread": func(sys *System) Placement { return On(sharedThread(t, sys)) },
	} {
		t.Run(name, func(t *testing.T) {
			sys := unclosed(t)
			stuck, goOn := make(chan struct{}), make(chan struct{})
			start(t, sys, "stubborn", at(sys), func(*Stream) error {
				close(stuck)
				<-goOn
				return nil
			})
			start(t, sys, "willing", sys.Device(1), func(s *Stream) error { s.Rest(); return nil })
			await(t, "it is stuck", stuck)
			ctx, cancel := context.WithCancelCause(context.Background())
			why := errors.New("no longer")
			closed := make(chan error, 1)
			go func() { closed <- sys.Close(ctx) }()
			until(t, "the willing one ends", func() bool { return sys.Counts().Actors == 1 })
			cancel(why)
			err := await(t, "the close gives up", closed)
			var e *CloseError
			if !errors.As(err, &e) || !errors.Is(err, why) || len(e.Stuck) != 1 || !strings.HasPrefix(e.Stuck[0], "stubborn (running)") {
				t.Errorf("Close: %v", err)
			}
			close(goOn)
			if err := sys.Close(soon(t)); err != nil {
				t.Errorf("the later Close: %v", err)
			}
		})
	}
}

// Whoever starts actors while the system is closed gets an actor, which is stopped, or
// an error; the close waits for all of them and for nobody else.
func TestT6_CloseBesideSpawns(t *testing.T) {
	rounds := 40
	if testing.Short() || raceEnabled {
		rounds = 10
	}
	for range rounds {
		sys := unclosed(t)
		th := sharedThread(t, sys)
		var spawners sync.WaitGroup
		var started atomic.Int32
		for i := range 3 {
			spawners.Go(func() {
				for {
					var err error
					switch i {
					case 0:
						_, err = sys.Go("function", sys.Device(0), func(s *Stream) error { s.Rest(); return nil })
					case 1:
						_, err = sys.Spawn("handler", On(th), PropsFromFunc(func(Context) {}))
					default:
						_, err = sys.NewThread(sys.Device(1))
					}
					started.Add(1)
					if err != nil {
						if !errors.Is(err, ErrSystemClosed) && !errors.Is(err, ErrTooManyThreads) {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		until(t, "some are started", func() bool { return started.Load() > 10 })
		if err := sys.Close(soon(t)); err != nil {
			t.Fatalf("Close: %v", err)
		}
		spawners.Wait()
		if n := sys.Counts(); n.Actors != 0 || n.Threads != 0 {
			t.Fatalf("left: %+v", n)
		}
	}
}

// slowly is a runtime whose CreateStream takes until it is told to go on.
type slowly struct {
	cudart.Runtime
	creating chan struct{}
	goOn     chan struct{}
}

func (r *slowly) CreateStream(ctx cudart.Context) (cudart.Stream, error) {
	r.creating <- struct{}{}
	<-r.goOn
	return r.Runtime.CreateStream(ctx)
}

// A close that comes while an actor is being started waits until it is known what
// becomes of it: nothing, or an actor, which is stopped.
func TestT6_CloseInTheMiddleOfASpawn(t *testing.T) {
	for name, producer := range map[string]func() Receiver{
		"which succeeds": func() Receiver { return ReceiveFunc(func(Context) {}) },
		"which panics":   func() Receiver { panic("no actor") },
	} {
		t.Run(name, func(t *testing.T) {
			sys := unclosed(t)
			producing, goOn := make(chan struct{}), make(chan struct{})
			props := PropsFromProducer(func() Receiver {
				close(producing)
				<-goOn
				return producer()
			})
			go func() {
				defer func() { _ = recover() }()
				_, _ = sys.Spawn("unborn", sys.Device(0), props)
			}()
			await(t, "it is being made", producing)
			early := make(chan struct{}, 1)
			sys.ActorSystem().EventStream.Subscribe(func(e any) {
				if dead, ok := e.(*proto.DeadLetterEvent); ok && isEnd(dead.Message) {
					early <- struct{}{} // the stop comes before there is somebody to stop
				}
			})
			closed := make(chan error, 1)
			go func() { closed <- sys.Close(soon(t)) }()
			await(t, "the stop", early)
			close(goOn)
			if err := await(t, "the close returns", closed); err != nil {
				t.Errorf("Close: %v", err)
			}
			if n := sys.Counts(); n.Actors != 0 || n.Threads != 0 || n.Streams != 0 {
				t.Errorf("left: %+v", n)
			}
		})
	}
	t.Run("which has only a thread yet", func(t *testing.T) {
		rt := &slowly{openRuntime(t), make(chan struct{}), make(chan struct{})}
		sys := unclosedOn(t, rt)
		failed := make(chan error, 1)
		go func() {
			_, err := sys.Go("unborn", sys.Device(0), func(*Stream) error { return nil })
			failed <- err
		}()
		await(t, "its stream is being made", rt.creating)
		closed := make(chan error, 1)
		go func() { closed <- sys.Close(soon(t)) }()
		until(t, "the system is closing", sys.isClosing)
		close(rt.goOn)
		if err := await(t, "the spawn fails", failed); !errors.Is(err, ErrSystemClosed) {
			t.Errorf("Go: %v", err)
		}
		if err := await(t, "the close returns", closed); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

// A spawn that fails leaves neither thread nor stream behind.
func TestAFailedSpawnLeavesNothing(t *testing.T) {
	sys, other := newSystem(t), newSystem(t)
	th, otherThread := sharedThread(t, sys), sharedThread(t, other)
	ended := start(t, sys, "ended", On(th), func(*Stream) error { return nil })
	alone := start(t, sys, "alone", sys.Device(0), func(s *Stream) error { s.Rest(); return nil })
	foreign := start(t, other, "foreign", On(otherThread), func(s *Stream) error { s.Rest(); return nil })
	finish(t, ended)
	before := sys.Counts()
	for what, at := range map[string]Placement{
		"a device of another system":        other.Device(0),
		"a thread of another system":        On(otherThread),
		"an actor of another system":        Sharing(foreign),
		"an actor that has ended":           Sharing(ended),
		"an actor with a thread of its own": Sharing(alone),
	} {
		if ref, err := sys.Go("fails", at, func(*Stream) error { return nil }); err == nil {
			t.Errorf("%s: accepted", what)
			finish(t, ref)
		}
	}
	for _, at := range []Placement{sys.Device(0), On(th)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the producer's panic is swallowed")
				}
			}()
			_, _ = sys.Spawn("panics", at, PropsFromProducer(func() Receiver { panic("no actor") }))
		}()
	}
	if after := sys.Counts(); after != before {
		t.Errorf("%+v before, %+v after", before, after)
	}
	alone.Stop()
	foreign.Stop()
	finish(t, alone, foreign)
}

// One protoactor system serves one System, beside actors of its own.
func TestWithActorSystem(t *testing.T) {
	root := proto.NewActorSystem(proto.WithLoggerFactory(func(*proto.ActorSystem) *slog.Logger {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}))
	sys := newSystem(t, WithActorSystem(root))
	echo := root.Root.Spawn(PropsFromFunc(func(ctx Context) {
		if m, ok := ctx.Message().(string); ok {
			ctx.Respond("echo " + m)
		}
		if StreamOf(ctx) != nil {
			t.Error("an ordinary actor has a stream")
		}
	}))
	got := make(chan any, 1)
	ref := spawn(t, sys, "asker", sys.Device(0), func(ctx Context) {
		switch m := ctx.Message().(type) {
		case int:
			if err := StreamOf(ctx).Request(echo, "hello"); err != nil {
				t.Error(err)
			}
		case string:
			got <- m
		}
	})
	root.Root.Send(ref.PID(), 1)
	if m := await(t, "the echo", got); m != "echo hello" {
		t.Errorf("heard %v", m)
	}
	finish(t, start(t, sys, "sender", sys.Device(0), func(s *Stream) error {
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		if err := s.Send(echo, struct{ B Buf }{b}); !errors.Is(err, buffer.ErrNoStream) {
			t.Errorf("a buffer for an ordinary actor: %v", err)
		}
		return holds(s, b, 1)
	}))
	root.Root.StopFuture(echo).Wait()
	ref.Stop()
	finish(t, ref)
	rt := openRuntime(t)
	if second, err := NewSystem(WithOpenRuntime(rt), WithActorSystem(root)); err == nil {
		t.Error("a second System on one protoactor system")
		_ = second.Close(soon(t))
	}
	_ = rt.Close()
}

func TestValueIsMadeOnce(t *testing.T) {
	sys := newSystem(t)
	type key struct{}
	made := 0
	for range 3 {
		if v := sys.Value(key{}, func() any { made++; return made }); v != 1 {
			t.Errorf("value %v", v)
		}
	}
}
