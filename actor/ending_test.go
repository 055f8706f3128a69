package actor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// answers checks what a request was answered with.
func answers(t *testing.T, f *Future, what string, ok func(any, error) bool) {
	t.Helper()
	if res, err := f.Result(); !ok(res, err) {
		t.Errorf("%s: answered %v, %v", what, res, err)
	}
}

// watching tells of the ends of actors that it is asked to watch.
func watching(t *testing.T, sys *System) (watch func(*PID), ends <-chan *PID) {
	told := make(chan *PID, 100)
	ready := make(chan struct{})
	pid := sys.Root().Spawn(PropsFromFunc(func(ctx Context) {
		switch m := ctx.Message().(type) {
		case *PID:
			ctx.Watch(m)
			ready <- struct{}{}
		case *Terminated:
			told <- m.Who
		}
	}))
	t.Cleanup(func() { sys.Root().StopFuture(pid).Wait() })
	return func(p *PID) {
		sys.Root().Send(pid, p)
		await(t, "it is watched", ready)
	}, told
}

func TestT4b_AHandlerThatEndsItsGoroutine(t *testing.T) {
	sys := newSystem(t)
	th := sharedThread(t, sys)
	neighbour := spawn(t, sys, "neighbour", On(th), func(ctx Context) {
		if _, ok := ctx.Message().(string); ok {
			ctx.Respond("here")
		}
	})
	for place, at := range map[string]Placement{"a thread of its own": sys.Device(0), "a shared thread": On(th)} {
		ref := spawn(t, sys, "leaver", at, func(ctx Context) {
			switch ctx.Message().(type) {
			case int:
				runtime.Goexit()
			case string:
				ctx.Respond("still here")
			}
		}, fresh())
		fn := start(t, sys, "leaver", at, func(*Stream) error { runtime.Goexit(); return nil })
		if err := fn.Wait(soon(t)); !errors.Is(err, ErrGoexit) {
			t.Errorf("%s: a function's Goexit: %v", place, err)
		}
		for range 100 {
			answers(t, sys.Root().RequestFuture(ref.PID(), 1, longest), place+": the request whose handler left", func(res any, err error) bool {
				failed, ok := res.(*HandlerFailed)
				return ok && errors.Is(failed, ErrGoexit) && failed.Actor == "leaver"
			})
		}
		answers(t, sys.Root().RequestFuture(ref.PID(), "there?", longest), place, func(res any, err error) bool { return res == "still here" })
		answers(t, sys.Root().RequestFuture(neighbour.PID(), "there?", longest), "the neighbour", func(res any, err error) bool { return res == "here" })
		ref.Stop()
		finish(t, ref)
	}
}

// What fails while the actor is on its way out: its end goes on, and its watchers,
// and whoever waits for the stop, are told.
func TestT4b_AFailureOnTheWayOut(t *testing.T) {
	for name, way := range failures {
		for _, when := range []string{"Stopping", "Stopped"} {
			t.Run(name+" in "+when, func(t *testing.T) {
				sys := newSystem(t)
				th := sharedThread(t, sys)
				watch, ends := watching(t, sys)
				var handled atomic.Int32
				ref := spawn(t, sys, "leaver", On(th), func(ctx Context) {
					at := ""
					switch ctx.Message().(type) {
					case *Started:
						if err := heldBuffers(StreamOf(ctx)); err != nil {
							panic(err)
						}
					case *Stopping:
						at = "Stopping"
					case *Stopped:
						at = "Stopped"
					}
					if at == when {
						handled.Add(1)
						way.fail()
					}
				})
				watch(ref.PID())
				if err := sys.Root().StopFuture(ref.PID()).Wait(); err != nil {
					t.Errorf("the stop's future: %v", err)
				}
				if who := await(t, "the watcher is told", ends); !who.Equal(ref.PID()) {
					t.Errorf("told of %v", who)
				}
				finish(t, ref)
				if n := handled.Load(); n != 1 {
					t.Errorf("%s was handled %d times", when, n)
				}
				if n := sys.Counts(); n.Actors != 0 || n.Reclaimed != 2 {
					t.Errorf("left behind: %+v", n)
				}
				pipelineOn(t, sys, th)
			})
		}
	}
}

// pipelineOn checks that a shared thread still works.
func pipelineOn(t *testing.T, sys *System, th *Thread) {
	finish(t, start(t, sys, "after", On(th), func(s *Stream) error {
		b, err := filled(s, 2)
		return errors.Join(err, holds(s, b, 2))
	}))
}

// A failure in Restarting is a failure like any other, until there have been too many.
func TestT4b_AFailureInRestarting(t *testing.T) {
	for name, way := range failures {
		t.Run(name, func(t *testing.T) {
			sys := newSystem(t)
			watch, ends := watching(t, sys)
			var restarts atomic.Int32
			ref := spawn(t, sys, "restarter", sys.Device(0), func(ctx Context) {
				switch ctx.Message().(type) {
				case *Restarting:
					restarts.Add(1)
					way.fail()
				case string:
					panic("first")
				}
			})
			watch(ref.PID())
			sys.Root().Send(ref.PID(), "fail")
			await(t, "the watcher is told", ends)
			if err := ref.Wait(soon(t)); !way.is(err) {
				t.Errorf("result %v", err)
			}
			if n := restarts.Load(); n != 10 {
				t.Errorf("restarted %d times, want 10 as protoactor has it", n)
			}
		})
	}
}

func TestT4b_NilIsNoMessage(t *testing.T) {
	sys := newSystem(t)
	ref := spawn(t, sys, "worker", sys.Device(0), func(ctx Context) {
		switch ctx.Message().(type) {
		case nil:
			t.Error("nil was handled")
		case string:
			ctx.Respond("here")
		}
	})
	sys.Root().Send(ref.PID(), nil)
	sys.Root().Request(ref.PID(), nil)
	if err := sys.Send(soon(t), ref.PID(), nil); err == nil {
		t.Error("Send of nil is no error")
	}
	finish(t, start(t, sys, "sender", sys.Device(0), func(s *Stream) error {
		if err := s.Send(ref.PID(), nil); err == nil {
			t.Error("Stream.Send of nil is no error")
		}
		return nil
	}))
	answers(t, sys.Root().RequestFuture(ref.PID(), "there?", longest), "after nil", func(res any, err error) bool { return res == "here" })
	ref.Stop()
	finish(t, ref)
}

// A name can be known before its actor is there: whoever sends to it in that moment
// reaches the actor, or nobody, and is not hurt.
func TestT4b_ASendToANameThatIsBeingSpawned(t *testing.T) {
	sys := newSystem(t, WithMaxThreads(64))
	rounds := 300
	if testing.Short() || raceEnabled {
		rounds = 60
	}
	for i := range rounds {
		id := "born$" + strconv.FormatUint(sys.names.Load()+1, 36)
		var senders sync.WaitGroup
		stop := make(chan struct{})
		for range 2 {
			senders.Go(func() {
				to := sys.ActorSystem().NewLocalPID(id)
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
						sys.Root().Send(to, n)
						runtime.Gosched()
					}
				}
			})
		}
		got := make(chan int, 1)
		ref := spawn(t, sys, "born", sys.Device(0), func(ctx Context) {
			if n, ok := ctx.Message().(int); ok {
				select {
				case got <- n:
				default:
				}
			}
		})
		if ref.PID().Id != id {
			t.Fatalf("round %d: spawned %s, expected %s", i, ref.PID().Id, id)
		}
		await(t, "a message arrives", got)
		ref.Stop()
		finish(t, ref)
		close(stop)
		senders.Wait()
	}
}

func TestT4b_AStopWithAHundredMessagesQueued(t *testing.T) {
	type carried struct{ B Buf }
	sys := newSystem(t)
	busy, goOn := make(chan struct{}), make(chan struct{})
	ref := spawn(t, sys, "busy", sys.Device(0), func(ctx Context) {
		if _, ok := ctx.Message().(string); ok {
			close(busy)
			<-goOn
		}
	})
	sys.Root().Send(ref.PID(), "be busy")
	await(t, "it is busy", busy)
	var futures []*Future
	finish(t, start(t, sys, "sender", sys.Device(0), func(s *Stream) error {
		for i := range 100 {
			if i%2 == 0 {
				futures = append(futures, sys.Root().RequestFuture(ref.PID(), i, longest))
				continue
			}
			b, err := filled(s, 1)
			if err != nil {
				return err
			}
			if err := s.Send(ref.PID(), carried{b}); err != nil {
				return err
			}
		}
		return nil
	}))
	ref.Stop()
	close(goOn)
	finish(t, ref)
	for i, f := range futures {
		answers(t, f, fmt.Sprintf("request %d", i), func(_ any, err error) bool { return errors.Is(err, ErrDeadLetter) })
	}
	if n := sys.Counts().Reclaimed; n != 50 {
		t.Errorf("%d buffers were released, want 50", n)
	}
	// And one that comes too late.
	answers(t, sys.Root().RequestFuture(ref.PID(), 1, longest), "too late", func(_ any, err error) bool { return errors.Is(err, ErrDeadLetter) })
	if err := sys.Send(context.Background(), ref.PID(), 1); !errors.Is(err, ErrNoActor) {
		t.Errorf("a send to an actor that has ended: %v", err)
	}
}
