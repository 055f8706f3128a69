package actor

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// What a strategy decides for a function that has failed.
func TestSupervisionOfFunctions(t *testing.T) {
	for name, c := range map[string]struct {
		strategy SpawnOption
		runs     int32
	}{
		"stopped by default":                  {nil, 1},
		"stopped":                             {decided(Stop), 1},
		"resumed, where nothing is left to":   {decided(Resume), 1},
		"escalated to the root, which stops":  {decided(Escalate), 1},
		"restarted, but not for ever":         {WithSupervision(NewOneForOneStrategy(3, time.Hour, func(any) Directive { return Restart })), 4},
		"restarted later and later":           {WithSupervision(NewExponentialBackoff(time.Minute, time.Millisecond)), 3},
		"restarted at once, until it is fine": {fresh(), 3},
		"the strategy itself fails":           {WithSupervision(NewOneForOneStrategy(3, time.Hour, func(any) Directive { panic("undecided") })), 1},
	} {
		t.Run(name, func(t *testing.T) {
			sys := newSystem(t)
			var runs atomic.Int32
			var opts []SpawnOption
			if c.strategy != nil {
				opts = append(opts, c.strategy)
			}
			fine := c.runs == 3
			ref := start(t, sys, "fails", sys.Device(0), func(s *Stream) error {
				if s.Context().Err() != nil {
					t.Error("a life that begins with an ended context")
				}
				if n := runs.Add(1); fine && n == 3 {
					return nil
				}
				return errBroken
			}, opts...)
			err := ref.Wait(soon(t))
			if fine && err != nil || !fine && !errors.Is(err, errBroken) {
				t.Errorf("result %v", err)
			}
			if n := runs.Load(); n != c.runs {
				t.Errorf("it ran %d times, want %d", n, c.runs)
			}
		})
	}
}

// The same for an actor in message style.
func TestSupervisionOfHandlers(t *testing.T) {
	for name, c := range map[string]struct {
		strategy SpawnOption
		lives    int32
		goesOn   bool
	}{
		"restarted by default":               {nil, 2, true},
		"stopped":                            {decided(Stop), 1, false},
		"resumed":                            {decided(Resume), 1, true},
		"escalated to the root, which stops": {decided(Escalate), 1, false},
		"the strategy itself fails":          {WithSupervision(NewOneForOneStrategy(3, time.Hour, func(any) Directive { panic("undecided") })), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			sys := newSystem(t)
			var lives atomic.Int32
			var opts []SpawnOption
			if c.strategy != nil {
				opts = append(opts, c.strategy)
			}
			ref := spawn(t, sys, "fails", sys.Device(0), func(ctx Context) {
				switch m := ctx.Message().(type) {
				case *Started:
					lives.Add(1)
				case string:
					if m == "fail" {
						panic(errBroken)
					}
					ctx.Respond(m)
				}
			}, opts...)
			answers(t, sys.Root().RequestFuture(ref.PID(), "fail", longest), "what failed", func(res any, err error) bool {
				failed, ok := res.(*HandlerFailed)
				return ok && errors.Is(failed, errBroken)
			})
			if !c.goesOn {
				if err := ref.Wait(soon(t)); !errors.Is(err, errBroken) {
					t.Errorf("result %v", err)
				}
			} else {
				answers(t, sys.Root().RequestFuture(ref.PID(), "goes on", longest), "the next one", func(res any, err error) bool { return res == "goes on" })
				ref.Stop()
				finish(t, ref)
			}
			if n := lives.Load(); n != c.lives {
				t.Errorf("%d lives, want %d", n, c.lives)
			}
		})
	}
}

// A request that its handler has answered keeps this answer when the handler fails
// afterwards.
func TestAnAnswerIsNotTakenBack(t *testing.T) {
	sys := newSystem(t)
	ref := spawn(t, sys, "fails", sys.Device(0), func(ctx Context) {
		if m, ok := ctx.Message().(int); ok {
			ctx.Respond(m)
			panic(errBroken)
		}
	}, fresh())
	for i := range 100 {
		answers(t, sys.Root().RequestFuture(ref.PID(), i, longest), "the request", func(res any, err error) bool { return res == i })
	}
	ref.Stop()
	finish(t, ref)
}

// A stop that comes right after a failure is what ends the actor, which would have
// been restarted; the failure is not.
func TestAStopRightAfterAFailure(t *testing.T) {
	sys := newSystem(t)
	for i := range 50 {
		early := i%2 == 0 // before the failure is decided about, or after
		ref := spawn(t, sys, "fails", sys.Device(0), func(ctx Context) {
			if m, ok := ctx.Message().(int); ok {
				if early {
					ctx.Respond(m)
				}
				panic(errBroken)
			}
		})
		if _, err := sys.Root().RequestFuture(ref.PID(), i, longest).Result(); err != nil {
			t.Error(err)
		}
		ref.Stop()
		finish(t, ref)
	}
}
