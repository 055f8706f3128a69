package actortest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/actor/actortest"
	"github.com/gpuactor/gpuactor/buffer"
)

// scenarios are what is run with many seeds. Each must go right in every order.
var scenarios = map[string]actortest.Func{
	"hand-off":  func(t testing.TB, sys *actor.System) { ok(t, pipeline(t.Context(), sys)) },
	"selector":  selector,
	"requests":  requests,
	"goroutine": goroutine,
	"close":     closing,
	"shared":    shared,
	"failures":  failures,
	"relay":     relay,
	"cancelled": cancelled,
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// selector receives from two channels until both are closed, or it is cancelled.
func selector(t testing.TB, sys *actor.System) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var in [2]*actor.Chan[Buf]
	g := sys.Group(ctx)
	for k := range in {
		in[k] = actor.NewChan[Buf](1)
		g.Go(fmt.Sprintf("sender-%d", k), sys.Device(0), func(s *actor.Stream) error {
			defer in[k].Close()
			for i := range uint32(3) {
				b, err := filled(s, uint32(k)*10+i)
				if err != nil {
					return err
				}
				if err := in[k].Send(s, b); err != nil {
					return errors.Join(err, b.Release(s))
				}
			}
			return nil
		})
	}
	got := 0
	g.Go("receiver", sys.Device(0), func(s *actor.Stream) error {
		var b Buf
		sel := actor.NewSelector(actor.Receiving(in[0], &b), actor.Receiving(in[1], &b))
		var next [2]uint32
		for open := 2; open > 0; {
			k, err := sel.Wait(s)
			if errors.Is(err, actor.ErrClosed) {
				sel.Drop(k)
				open--
				continue
			}
			if err != nil {
				return err
			}
			if err := holds(s, b, uint32(k)*10+next[k]); err != nil {
				return err
			}
			next[k]++
			if got++; got == 4 {
				cancel() // what is on its way then is released
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	in[0].Discard()
	in[1].Discard()
	if got < 4 {
		t.Errorf("received %d", got)
	}
}

// double is a request that carries a buffer, and its answer.
type double struct {
	Of Buf
	By uint32
}

// requests has one actor ask another, which asks a third.
func requests(t testing.TB, sys *actor.System) {
	third, err := sys.Spawn("third", sys.Device(0), actor.PropsFromFunc(func(ctx actor.Context) {
		if m, yes := ctx.Message().(*double); yes {
			if err := add(actor.StreamOf(ctx), m.Of, m.By); err != nil {
				panic(err)
			}
			ctx.Respond(m)
		}
	}))
	ok(t, err)
	second, err := sys.Spawn("second", sys.Device(0), actor.PropsFromFunc(func(ctx actor.Context) {
		if m, yes := ctx.Message().(*double); yes {
			answer, err := actor.StreamOf(ctx).Ask(third.PID(), &double{m.Of, m.By + 1})
			if err != nil {
				panic(err)
			}
			ctx.Respond(answer)
		}
	}))
	ok(t, err)
	g := sys.Group(t.Context())
	for k := range uint32(2) {
		g.Go(fmt.Sprintf("asker-%d", k), sys.Device(0), func(s *actor.Stream) error {
			for i := range uint32(2) {
				b, err := filled(s, 100*k)
				if err != nil {
					return err
				}
				answer, err := s.Ask(second.PID(), &double{b, i})
				if err != nil {
					return err
				}
				if err := holds(s, answer.(*double).Of, 100*k+i+1); err != nil {
					return err
				}
			}
			return nil
		})
	}
	ok(t, g.Wait())
}

// goroutine has ordinary goroutines send numbers, with a deadline, and get answers.
func goroutine(t testing.TB, sys *actor.System) {
	work, results := actor.NewChan[uint32](1), actor.NewChan[uint32](1)
	g := sys.Group(t.Context())
	g.Go("worker", sys.Device(0), func(s *actor.Stream) error {
		defer results.Close()
		for v, err := range work.All(s) {
			if err != nil {
				return err
			}
			b, err := filled(s, v)
			if err != nil {
				return err
			}
			if err := holds(s, b, v); err != nil {
				return err
			}
			if err := results.Send(s, v); err != nil {
				return err
			}
		}
		return nil
	})
	echo, err := sys.Spawn("echo", sys.Device(1), actor.PropsFromFunc(func(ctx actor.Context) {
		if n, yes := ctx.Message().(int); yes {
			ctx.Respond(n + 1)
		}
	}))
	ok(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for i := range uint32(3) {
		ok(t, work.SendCtx(ctx, i))
		v, err := results.RecvCtx(ctx)
		ok(t, err)
		if v != i {
			t.Errorf("got %d, want %d", v, i)
		}
		n, err := sys.Request(ctx, echo.PID(), int(i))
		ok(t, err)
		if n != int(i)+1 {
			t.Errorf("the answer is %v", n)
		}
	}
	work.Close()
	ok(t, g.Wait())
}

// closing closes the system with work in flight.
func closing(t testing.TB, sys *actor.System) {
	ch := actor.NewChan[Buf](2)
	for k := range 2 {
		_, err := sys.Go(fmt.Sprintf("sender-%d", k), sys.Device(k), func(s *actor.Stream) error {
			for {
				b, err := filled(s, 1)
				if err != nil {
					return err
				}
				if err := ch.Send(s, b); err != nil {
					return err // and b is reclaimed
				}
			}
		})
		ok(t, err)
	}
	some := actor.NewChan[int](1)
	_, err := sys.Go("receiver", sys.Device(0), func(s *actor.Stream) error {
		for i := range 5 {
			if _, err := ch.Recv(s); err != nil {
				return err
			}
			if err := some.Send(s, i); err != nil {
				return err
			}
		}
		return nil
	})
	ok(t, err)
	_, err = some.RecvCtx(t.Context())
	ok(t, err)
	ok(t, sys.Close(t.Context()))
	ch.Discard()
}

// shared has actors share a thread, and a stream; host memory goes between them.
func shared(t testing.TB, sys *actor.System) {
	th, err := sys.NewThread(sys.Device(0))
	ok(t, err)
	ch := actor.NewChan[buffer.Host[uint32]](1)
	g := sys.Group(t.Context())
	first := g.Go("writer", actor.On(th), func(s *actor.Stream) error {
		defer ch.Close()
		for i := range uint32(3) {
			h, err := buffer.NewHost[uint32](s, words)
			if err != nil {
				return err
			}
			mem, err := h.Slice(s)
			if err != nil {
				return err
			}
			for j := range mem {
				mem[j] = i
			}
			if err := ch.Send(s, h); err != nil {
				return err
			}
		}
		return nil
	})
	reader := func(at actor.Placement) func(*actor.Stream) error {
		return func(s *actor.Stream) error {
			for h, err := range ch.All(s) {
				if err != nil {
					return err
				}
				mem, err := h.Slice(s)
				if err != nil {
					return err
				}
				for _, v := range mem {
					if v != mem[0] {
						return fmt.Errorf("%d, and %d", v, mem[0])
					}
				}
				if err := h.Release(s); err != nil {
					return err
				}
			}
			return nil
		}
	}
	g.Go("sharing", actor.Sharing(first), reader(actor.Sharing(first)))
	g.Go("beside", actor.On(th), reader(actor.On(th)))
	ok(t, g.Wait())
}

// failures are an actor that panics, one that calls Goexit, and one that is restarted;
// the others do not notice.
func failures(t testing.TB, sys *actor.System) {
	g := sys.Group(context.Background())
	h := sys.Group(context.Background())
	h.Go("panics", sys.Device(0), func(s *actor.Stream) error {
		if _, err := filled(s, 1); err != nil {
			return err
		}
		panic("on purpose")
	})
	g.Go("works", sys.Device(0), func(s *actor.Stream) error {
		b, err := filled(s, 2)
		if err != nil {
			return err
		}
		return holds(s, b, 2)
	})
	exits := sys.Group(context.Background())
	exits.Go("exits", sys.Device(0), func(s *actor.Stream) error {
		if _, err := filled(s, 3); err != nil {
			return err
		}
		exit()
		return nil
	})
	ok(t, g.Wait())
	var p *actor.PanicError
	if err := h.Wait(); !errors.As(err, &p) {
		t.Errorf("the panic: %v", err)
	}
	if err := exits.Wait(); !errors.Is(err, actor.ErrGoexit) {
		t.Errorf("Goexit: %v", err)
	}
}

// relay has each actor wake an ordinary goroutine with the last thing that it does; the
// goroutine starts the next actor, while the one before it ends.
func relay(t testing.TB, sys *actor.System) {
	ch := actor.NewChan[int](1)
	var refs []*actor.Ref
	for i := range 4 {
		ref, err := sys.Go(fmt.Sprintf("runner-%d", i), sys.Device(0), func(s *actor.Stream) error {
			if _, err := filled(s, uint32(i)); err != nil {
				return err
			}
			return ch.Send(s, i)
		})
		ok(t, err)
		refs = append(refs, ref)
		_, err = ch.RecvCtx(t.Context())
		ok(t, err)
	}
	for _, r := range refs {
		ok(t, r.Wait(t.Context()))
	}
}

// cancelled has the contexts of many actors of one thread end at once, by one of them,
// as the last thing that it does. Each has work to do then.
func cancelled(t testing.TB, sys *actor.System) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	th, err := sys.NewThread(sys.Device(0))
	ok(t, err)
	never, there := actor.NewChan[int](1), actor.NewChan[int](4)
	var refs []*actor.Ref
	start := func(name string, f func(s *actor.Stream) error) {
		ref, err := sys.Go(name, actor.On(th), f, actor.WithContext(ctx))
		ok(t, err)
		refs = append(refs, ref)
	}
	for i := range 4 {
		start(fmt.Sprintf("waits-%d", i), func(s *actor.Stream) error {
			b, err := filled(s, uint32(i))
			if err != nil {
				return err
			}
			if err := there.Send(s, i); err != nil {
				return err
			}
			if _, err := never.Recv(s); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("never: %v", err)
			}
			if err := add(s, b, 1); err != nil {
				return err
			}
			return b.Release(s)
		})
	}
	start("cancels", func(s *actor.Stream) error {
		defer cancel()
		for range 4 {
			if _, err := there.Recv(s); err != nil {
				return err
			}
		}
		return nil
	})
	for _, r := range refs {
		ok(t, r.Wait(t.Context()))
	}
}

// exit is runtime.Goexit, which vet would have code behind it be unreachable.
func exit() { runtime.Goexit() }

func TestScenarios(t *testing.T) {
	for name, f := range scenarios {
		t.Run(name, func(t *testing.T) {
			before := buffer.Live()
			actortest.Seeds(t, seeds(300), f)
			if n := buffer.Live(); n != before {
				t.Errorf("%d buffers are live, there were %d", n, before)
			}
		})
	}
}

// The same seed is the same run, to the last step of the device.
func TestASeedIsAnOrder(t *testing.T) {
	for name, f := range scenarios {
		t.Run(name, func(t *testing.T) {
			orders := map[uint64]bool{}
			for seed := range uint64(seeds(50)) {
				a, b := actortest.Config{}.Try(t, seed, f), actortest.Config{}.Try(t, seed, f)
				if a.Hash != b.Hash || a.Turns != b.Turns || a.Schedule.String() != b.Schedule.String() {
					t.Fatalf("seed %d: %d turns, then %d\n%v\n%v", seed, a.Turns, b.Turns, a.Schedule, b.Schedule)
				}
				c := actortest.Config{}.Replay(t, a.Schedule, f)
				if a.Hash != c.Hash || a.Turns != c.Turns {
					t.Fatalf("seed %d: %d turns, by its schedule %d", seed, a.Turns, c.Turns)
				}
				orders[a.Hash] = true
			}
			if len(orders) < 5 {
				t.Errorf("%d orders", len(orders))
			}
		})
	}
}
