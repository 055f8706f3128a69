package actor

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// fresh restarts whatever fails, for ever.
func fresh() SpawnOption {
	return WithSupervision(NewOneForOneStrategy(1000, time.Hour, func(any) Directive { return Restart }))
}

// decided has a strategy decide always the same.
func decided(d Directive) SpawnOption {
	return WithSupervision(NewOneForOneStrategy(1000, time.Hour, func(any) Directive { return d }))
}

var errBroken = errors.New("broken")

// ways to fail with buffers in hand.
var failures = map[string]struct {
	fail func()
	is   func(error) bool
}{
	"panic": {
		func() { panic(errBroken) },
		func(err error) bool { var p *PanicError; return errors.As(err, &p) && errors.Is(err, errBroken) },
	},
	"panic with a word": {
		func() { panic("broken") },
		func(err error) bool { var p *PanicError; return errors.As(err, &p) && p.Value == "broken" },
	},
	"Goexit": {runtime.Goexit, func(err error) bool { return errors.Is(err, ErrGoexit) }},
}

// life is what must be the same before and after a restart.
type life struct {
	thread int
	stream cudart.Stream
}

func lifeOf(s *Stream) life { return life{threadID(), s.cuda.Handle()} }

// heldBuffers leaves an actor with two buffers.
func heldBuffers(s *Stream) error {
	for range 2 {
		if _, err := filled(s, 9); err != nil {
			return err
		}
	}
	return nil
}

func TestT2_AFunctionFailsWithBuffersInHand(t *testing.T) {
	for name, way := range failures {
		t.Run(name, func(t *testing.T) {
			sys := newSystem(t)
			// Stopped, by default: the failure is the result.
			ref := start(t, sys, "fails", sys.Device(0), func(s *Stream) error {
				if err := heldBuffers(s); err != nil {
					return err
				}
				way.fail()
				return nil
			})
			if err := ref.Wait(soon(t)); !way.is(err) {
				t.Errorf("result %v", err)
			}
			if n := sys.Counts().Reclaimed; n != 2 {
				t.Errorf("%d buffers reclaimed, want 2", n)
			}
			// Restarted: the same thread and stream, and none of the buffers.
			var lives []life
			ref = start(t, sys, "again", sys.Device(0), func(s *Stream) error {
				if lives = append(lives, lifeOf(s)); len(lives) == 4 {
					if o, _ := s.Owner(); len(o.Owned()) != 0 {
						t.Errorf("%d buffers are left from the lives before", len(o.Owned()))
					}
					b, err := filled(s, 4)
					return errors.Join(err, holds(s, b, 4))
				}
				if err := heldBuffers(s); err != nil {
					return err
				}
				way.fail()
				return nil
			}, fresh())
			finish(t, ref)
			if len(lives) != 4 || lives[0] != lives[1] || lives[1] != lives[2] || lives[2] != lives[3] {
				t.Errorf("lives %v, want four on one thread and one stream", lives)
			}
			if n := sys.Counts().Reclaimed; n != 8 {
				t.Errorf("%d buffers reclaimed, want 8", n)
			}
		})
	}
}

// A function that returns an error has failed too.
func TestT2_AFunctionReturnsAnError(t *testing.T) {
	sys := newSystem(t)
	ref := start(t, sys, "fails", sys.Device(0), func(s *Stream) error { return errors.Join(heldBuffers(s), errBroken) })
	if err := ref.Wait(soon(t)); !errors.Is(err, errBroken) {
		t.Errorf("result %v", err)
	}
	if n := sys.Counts().Reclaimed; n != 2 {
		t.Errorf("%d buffers reclaimed, want 2", n)
	}
}

func TestT2_AHandlerFailsWithBuffersInHand(t *testing.T) {
	type carried struct{ B Buf }
	for name, way := range failures {
		t.Run(name, func(t *testing.T) {
			sys := newSystem(t)
			lives := make(chan life, 10)
			ref := spawn(t, sys, "fails", sys.Device(0), func(ctx Context) {
				switch ctx.Message().(type) {
				case *Started:
					lives <- lifeOf(StreamOf(ctx))
				case carried: // one from the message, two of its own
					if err := heldBuffers(StreamOf(ctx)); err != nil {
						panic(err)
					}
					way.fail()
				case string:
					b, err := filled(StreamOf(ctx), 4)
					ctx.Respond(errors.Join(err, holds(StreamOf(ctx), b, 4)))
				}
			})
			finish(t, start(t, sys, "sender", sys.Device(0), func(s *Stream) error {
				for range 3 {
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
			res, err := sys.Root().RequestFuture(ref.PID(), "works?", longest).Result()
			if failed, _ := res.(error); err != nil || failed != nil {
				t.Errorf("after three failures: %v, %v", res, err)
			}
			first := await(t, "a life", lives)
			for range 3 {
				if l := await(t, "another life", lives); l != first {
					t.Errorf("a life on %v, the first one on %v", l, first)
				}
			}
			if n := sys.Counts().Reclaimed; n != 9 {
				t.Errorf("%d buffers reclaimed, want 9", n)
			}
			ref.Stop()
			finish(t, ref) // the failures did not end it
		})
	}
}

// What a failure leaves is used by nobody else until the stream's work on it is done.
func TestT2_ReclaimedAfterTheStreamsWork(t *testing.T) {
	sys := newSystem(t)
	gates := make(chan *gate, 1)
	ref := start(t, sys, "fails", sys.Device(0), func(s *Stream) error {
		g, err := newGate(s)
		if err != nil {
			return err
		}
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		gates <- g
		return errors.Join(s.Synchronize(), g.hold(s), fill(s, b, 1), errBroken)
	})
	if err := ref.Wait(soon(t)); err.Error() != errBroken.Error() {
		t.Fatal(err)
	}
	g := await(t, "the gate", gates)
	finish(t, start(t, sys, "other", sys.Device(0), func(s *Stream) error {
		b, err := filled(s, 2)
		if err != nil {
			return err
		}
		if err := s.Synchronize(); err != nil {
			return err
		}
		g.open()
		// The late kernel writes to its own memory.
		until(t, "the late kernel has run", func() bool {
			if err := s.Device().PollMemory(s.Device()); err != nil {
				t.Error(err)
			}
			return s.Device().Memory().Held == 1024
		})
		return holds(s, b, 2)
	}))
}
