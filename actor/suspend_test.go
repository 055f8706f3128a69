package actor

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/device"
)

// blocking are the calls in which an actor may be suspended.
var blocking = map[string]func(*Stream) error{
	"Recv": func(s *Stream) error { _, err := NewChan[int](1).Recv(s); return err },
	"Send": func(s *Stream) error { c := NewChan[int](1); return errors.Join(c.Send(s, 1), c.Send(s, 2)) },
	"All":  func(s *Stream) error { return last(NewChan[int](1), s) },
	"Selector": func(s *Stream) error {
		var v int
		_, err := NewSelector(Receiving(NewChan[int](1), &v)).Wait(s)
		return err
	},
	"New":  func(s *Stream) error { return overBudget(s) },
	"Rest": func(s *Stream) error { s.Rest(); return s.cause() },
}

// last is the error that a range over a channel ends with.
func last(c *Chan[int], s *Stream) (err error) {
	for _, err = range c.All(s) {
	}
	return err
}

// overBudget asks for the whole budget while some of it is in use.
func overBudget(s *Stream) error {
	b, err := buffer.New[uint32](s, words)
	if err != nil {
		return err
	}
	_, err = buffer.New[uint8](s, int(s.Device().Memory().Budget))
	return errors.Join(err, b.Release(s))
}

func TestAStopEndsWhateverIsSuspended(t *testing.T) {
	for name, block := range blocking {
		t.Run(name, func(t *testing.T) {
			sys := newSystem(t, WithBudget(1<<20))
			ref := start(t, sys, "blocked", sys.Device(0), block)
			suspended(t, ref)
			ref.Stop()
			finish(t, ref)

			result := make(chan error, 1)
			ref = spawn(t, sys, "blocked", sys.Device(0), func(ctx Context) {
				if _, ok := ctx.Message().(string); ok {
					result <- block(StreamOf(ctx))
				}
			})
			sys.Root().Send(ref.PID(), "block")
			suspended(t, ref)
			ref.Stop()
			if err := await(t, "the call returns", result); !errors.Is(err, ErrStopped) {
				t.Errorf("%v, want ErrStopped", err)
			}
			finish(t, ref)
		})
	}
}

// suspended waits until an actor's code is suspended in a call.
func suspended(t testing.TB, ref *Ref) {
	t.Helper()
	probe := askWhether(ref)
	until(t, "it is suspended", func() bool { return probe() })
}

// askWhether finds out, on the actor's thread, whether its code is suspended.
func askWhether(ref *Ref) func() bool {
	return func() bool {
		s := ref.s
		if !s.up.Load() || s.running.Load() {
			return false
		}
		seen := make(chan bool, 1)
		r := &request{task: look(func() { seen <- s.parked }), from: &Stream{sys: s.sys}}
		return s.ask(r) && <-seen
	}
}

// restart does what a supervisor does.
func restart(sys *System, ref *Ref) {
	if p, ok := sys.root.ProcessRegistry.Get(ref.PID()); ok {
		p.SendSystemMessage(ref.PID(), &proto.Restart{})
	}
}

func TestARestartWhileACallIsSuspended(t *testing.T) {
	for name, block := range blocking {
		t.Run(name, func(t *testing.T) {
			sys := newSystem(t, WithBudget(1<<20))
			var runs atomic.Int32
			ref := start(t, sys, "blocked", sys.Device(0), func(s *Stream) error {
				if runs.Add(1) == 2 {
					return nil
				}
				return block(s)
			})
			suspended(t, ref)
			restart(sys, ref)
			finish(t, ref)
			if n := runs.Load(); n != 2 {
				t.Errorf("it ran %d times, want 2", n)
			}

			var lives atomic.Int32
			result := make(chan error, 1)
			ref = spawn(t, sys, "blocked", sys.Device(0), func(ctx Context) {
				switch m := ctx.Message().(type) {
				case *Started:
					lives.Add(1)
				case string:
					result <- block(StreamOf(ctx))
				case int:
					ctx.Respond(m)
				}
			})
			sys.Root().Send(ref.PID(), "block")
			suspended(t, ref)
			restart(sys, ref)
			if err := await(t, "the call returns", result); !errors.Is(err, ErrStopped) {
				t.Errorf("%v, want ErrStopped", err)
			}
			answers(t, sys.Root().RequestFuture(ref.PID(), 5, longest), "the next life", func(res any, err error) bool { return res == 5 })
			if n := lives.Load(); n != 2 {
				t.Errorf("%d lives, want 2", n)
			}
			ref.Stop()
			finish(t, ref)
		})
	}
}

// The handlers of the end may block, also where a stop was what ended a blocked
// handler, and where another stop comes.
func TestTheEndMayBlock(t *testing.T) {
	for _, when := range []string{"Stopping", "Stopped"} {
		t.Run(when, func(t *testing.T) {
			sys := newSystem(t)
			watch, ends := watching(t, sys)
			blocked, results := NewChan[int](1), NewChan[int](1)
			result := make(chan error, 1)
			ref := spawn(t, sys, "leaver", sys.Device(0), func(ctx Context) {
				at := ""
				switch ctx.Message().(type) {
				case *Stopping:
					at = "Stopping"
				case *Stopped:
					at = "Stopped"
				case string:
					_, _ = blocked.Recv(StreamOf(ctx))
				}
				if at == when {
					s := StreamOf(ctx)
					b, err := filled(s, 6)
					err = errors.Join(err, holds(s, b, 6))
					_, recv := results.Recv(s)
					result <- errors.Join(err, recv)
				}
			})
			watch(ref.PID())
			sys.Root().Send(ref.PID(), "block")
			suspended(t, ref)
			ref.Stop()
			until(t, "it waits in "+when, func() bool {
				results.mu.Lock()
				defer results.mu.Unlock()
				return results.receivers.first != nil
			})
			ref.Stop()
			if err := ref.s.Context().Err(); err != nil {
				t.Errorf("another stop has ended the context: %v", err)
			}
			suspended(t, ref)
			select {
			case <-ref.Done():
				t.Error("the actor ended before its last handler")
			default:
			}
			if err := results.SendCtx(soon(t), 1); err != nil {
				t.Fatal(err)
			}
			if err := await(t, "the handler returns", result); err != nil {
				t.Error(err)
			}
			await(t, "the watcher is told", ends)
			finish(t, ref)
		})
	}
}

// A deferred call may block in the library while its function fails.
func TestADeferredSendBlocksWhileTheFunctionFails(t *testing.T) {
	for name, way := range failures {
		for place, shared := range map[string]bool{"alone": false, "on a shared thread": true} {
			t.Run(name+" "+place, func(t *testing.T) {
				sys := newSystem(t)
				var at Placement = sys.Device(0)
				if shared {
					at = On(sharedThread(t, sys))
				}
				items := NewChan[int](1)
				full := make(chan struct{})
				ref := start(t, sys, "fails", at, func(s *Stream) error {
					defer func() {
						if err := items.Send(s, 2); err != nil {
							t.Error(err)
						}
					}()
					if err := items.Send(s, 1); err != nil {
						return err
					}
					close(full)
					way.fail()
					return nil
				})
				await(t, "the channel is full", full)
				suspended(t, ref)
				finish(t, start(t, sys, "receiver", at, func(s *Stream) error {
					for want := range 2 {
						if v, err := items.Recv(s); v != want+1 || err != nil {
							t.Errorf("received %d, %v", v, err)
						}
					}
					return nil
				}))
				if err := ref.Wait(soon(t)); !way.is(err) {
					t.Errorf("result %v", err)
				}
			})
		}
	}
}

// A message that fails while the actor waits for its children to end is not a reason
// to restart what is on its way out.
func TestAFailureWhileChildrenEnd(t *testing.T) {
	sys := newSystem(t)
	goOn, child := make(chan struct{}), make(chan struct{})
	var lives atomic.Int32
	ref := spawn(t, sys, "parent", sys.Device(0), func(ctx Context) {
		switch ctx.Message().(type) {
		case *Started:
			lives.Add(1)
			ctx.Spawn(PropsFromFunc(func(c Context) {
				if _, ok := c.Message().(*Stopping); ok {
					close(child)
					<-goOn
				}
			}))
		case string:
			panic(errBroken)
		}
	})
	ref.Stop()
	await(t, "the child is ending", child)
	sys.Root().Send(ref.PID(), "fail")
	select {
	case <-ref.Done():
	case <-time.After(longest):
		t.Error("never ended")
	}
	close(goOn)
	if n := lives.Load(); n != 1 {
		t.Errorf("%d lives, want 1", n)
	}
}

// Endings that come while an actor is being born.
func TestAStopDuringStarted(t *testing.T) {
	sys := newSystem(t)
	began, result := make(chan struct{}), make(chan error, 1)
	ref := spawn(t, sys, "starter", sys.Device(0), func(ctx Context) {
		if _, ok := ctx.Message().(*Started); ok {
			close(began)
			_, err := NewChan[int](1).Recv(StreamOf(ctx))
			result <- err
		}
	})
	await(t, "it starts", began)
	ref.Stop()
	if err := await(t, "the call returns", result); !errors.Is(err, ErrStopped) {
		t.Errorf("%v, want ErrStopped", err)
	}
	finish(t, ref)
	for range 50 { // at once: before, in, or after Started
		ref := start(t, sys, "short", sys.Device(0), func(s *Stream) error { s.Rest(); return nil })
		ref.Stop()
		finish(t, ref)
	}
}

// A context that the caller made ends the actor's calls, with its own cause.
func TestTheCallersContextEnds(t *testing.T) {
	sys := newSystem(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	ref := start(t, sys, "blocked", sys.Device(0), blocking["Recv"], WithContext(ctx))
	suspended(t, ref)
	mine := errors.New("mine")
	cancel(mine)
	if err := ref.Wait(soon(t)); !errors.Is(err, mine) {
		t.Errorf("result %v, want the cause", err)
	}
}

// What is left of a wait that was given up must not wake anybody later, nor keep the
// driver asked: the stream is used again at once.
func TestAGivenUpWaitLeavesNothing(t *testing.T) {
	sys := newSystem(t, WithBudget(1<<20))
	for range 20 {
		var runs atomic.Int32
		ref := start(t, sys, "waits", sys.Device(0), func(s *Stream) error {
			if runs.Add(1) == 1 {
				return overBudget(s)
			}
			b, err := filled(s, 8)
			return errors.Join(err, holds(s, b, 8))
		})
		suspended(t, ref)
		restart(sys, ref)
		finish(t, ref)
	}
}

// look is a task that only looks.
type look func()

func (f look) Run(*device.Stream, *device.Device) error { f(); return nil }
