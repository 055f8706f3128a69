package actor

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
)

// unclosed is a system that the test closes itself.
func unclosed(t *testing.T, opts ...Option) *System {
	t.Helper()
	return unclosedOn(t, openRuntime(t), opts...)
}

func unclosedOn(t *testing.T, rt cudart.Runtime, opts ...Option) *System {
	t.Helper()
	t.Cleanup(func() { _ = rt.Close() })
	all := append(checked(t), WithOpenRuntime(rt), WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
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

// slowly is a runtime whose CreateStream, once it is slow, takes until it is told to
// go on.
type slowly struct {
	cudart.Runtime
	slow     atomic.Bool
	creating chan struct{}
	goOn     chan struct{}
}

func (r *slowly) CreateStream(ctx cudart.Context) (cudart.Stream, error) {
	if r.slow.Load() {
		r.creating <- struct{}{}
		<-r.goOn
	}
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
		rt := &slowly{Runtime: openRuntime(t), creating: make(chan struct{}), goOn: make(chan struct{})}
		sys := unclosedOn(t, rt)
		rt.slow.Store(true)
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
