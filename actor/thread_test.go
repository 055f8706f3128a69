package actor

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	proto "github.com/asynkron/protoactor-go/actor"
)

// rally sends a buffer between two actors n times; each adds one.
func rally(t *testing.T, sys *System, a, b Placement, n int) {
	t.Helper()
	there, back := NewChan[Buf](1), NewChan[Buf](1)
	echo := start(t, sys, "echo", a, func(s *Stream) error {
		for b, err := range there.All(s) {
			if err := errors.Join(err, add(s, b, 1), back.Send(s, b)); err != nil {
				return err
			}
		}
		return nil
	})
	server := start(t, sys, "server", b, func(s *Stream) error {
		defer there.Close()
		b, err := filled(s, 0)
		if err != nil {
			return err
		}
		for range n {
			if err := errors.Join(add(s, b, 1), there.Send(s, b)); err != nil {
				return err
			}
			if b, err = back.Recv(s); err != nil {
				return err
			}
		}
		return holds(s, b, uint32(2*n))
	})
	finish(t, echo, server)
}

func TestOnOneThread(t *testing.T) {
	sys := newSystem(t)
	th := sharedThread(t, sys)
	if th.Device() != sys.Device(0) || On(th).Device() != sys.Device(0) {
		t.Errorf("the thread is on %v", th.Device())
	}
	ids := map[string]int{}
	for _, name := range []string{"a", "b"} {
		finish(t, start(t, sys, name, On(th), func(s *Stream) error {
			ids[name] = threadID()
			return nil
		}))
	}
	if ids["a"] != ids["b"] {
		t.Errorf("two actors of a thread ran on %v", ids)
	}
	rally(t, sys, On(th), On(th), 200)
}

func TestOnThreadsOfTheirOwn(t *testing.T) {
	sys := newSystem(t)
	rally(t, sys, sys.Device(0), sys.Device(0), 100)
}

func TestSharingAStream(t *testing.T) {
	sys := newSystem(t)
	hold := NewChan[int](1)
	first := start(t, sys, "first", On(sharedThread(t, sys)), func(s *Stream) error {
		_, err := hold.Recv(s)
		return err
	})
	if at := Sharing(first); at.Device() != sys.Device(0) {
		t.Errorf("sharing is on %v", at.Device())
	}
	rally(t, sys, Sharing(first), Sharing(first), 100)
	if n := sys.Counts().Streams; n != 1 {
		t.Errorf("%d streams, want 1", n)
	}
	// The stream goes on with the second one when the first has ended.
	release := NewChan[int](1)
	second := start(t, sys, "second", Sharing(first), func(s *Stream) error {
		if _, err := release.Recv(s); err != nil {
			return err
		}
		b, err := filled(s, 5)
		return errors.Join(err, holds(s, b, 5))
	})
	if err := hold.SendCtx(soon(t), 1); err != nil {
		t.Fatal(err)
	}
	finish(t, first)
	if n := sys.Counts().Streams; n != 1 {
		t.Errorf("%d streams, want 1", n)
	}
	if err := release.SendCtx(soon(t), 1); err != nil {
		t.Fatal(err)
	}
	finish(t, second)
	if n := sys.Counts().Streams; n != 0 {
		t.Errorf("%d streams, want none", n)
	}
}

// Actors come and go on a stream that others share, while its first one ends.
func TestSharingWhileTheOtherEnds(t *testing.T) {
	sys := newSystem(t)
	th := sharedThread(t, sys)
	rounds := 200
	if testing.Short() || raceEnabled {
		rounds = 50
	}
	for range rounds {
		first := start(t, sys, "first", On(th), func(s *Stream) error {
			b, err := filled(s, 1)
			return errors.Join(err, b.Release(s))
		})
		for range 3 {
			ref, err := sys.Go("second", Sharing(first), func(s *Stream) error {
				b, err := filled(s, 2)
				return errors.Join(err, holds(s, b, 2))
			})
			if err == nil {
				finish(t, ref)
			}
		}
		finish(t, first)
	}
	if n := sys.Counts().Streams; n != 0 {
		t.Errorf("%d streams are left", n)
	}
}

// last takes whoever came last.
type lastCome struct{ asked, most atomic.Int32 }

func (o *lastCome) Next(ready int) int {
	o.asked.Add(1)
	o.most.Store(max(o.most.Load(), int32(ready)))
	return ready - 1
}

// The system's order chooses among the actors that are ready on a thread.
func TestOrderIsConsulted(t *testing.T) {
	for name, c := range map[string]struct {
		opts []Option
		want string
	}{
		"first come, first served": {nil, "[0 1 2 3]"},
		"last come, first served":  {[]Option{WithOrder(new(lastCome))}, "[3 2 1 0]"},
	} {
		t.Run(name, func(t *testing.T) {
			sys := newSystem(t, c.opts...)
			th := sharedThread(t, sys)
			busy, goOn := make(chan struct{}), make(chan struct{})
			blocker := start(t, sys, "blocker", On(th), func(*Stream) error {
				close(busy)
				<-goOn // the thread stands still, and the others come
				return nil
			})
			await(t, "the thread is busy", busy)
			var turns []int
			var refs []*Ref
			for i := range 4 {
				refs = append(refs, start(t, sys, fmt.Sprint(i), On(th), func(*Stream) error {
					turns = append(turns, i)
					return nil
				}))
			}
			close(goOn)
			finish(t, append(refs, blocker)...)
			if got := fmt.Sprint(turns); got != c.want {
				t.Errorf("turns %s, want %s", got, c.want)
			}
		})
	}
}

// An actor's thread ends with it, and so does the OS thread.
func TestAThreadEndsWithItsActor(t *testing.T) {
	sys := newSystem(t)
	if threads() == 0 {
		t.Skip("the system does not say which threads there are")
	}
	ids := make(chan int, 1)
	ref := start(t, sys, "short", sys.Device(0), func(*Stream) error { ids <- threadID(); return nil })
	finish(t, ref)
	id := <-ids
	until(t, "the thread ends", func() bool { return sys.Counts().Threads == 0 && !threadExists(id) })
}

// Nobody on a thread waits for ever because another one has much to do.
func TestAFloodDoesNotStarveTheNeighbours(t *testing.T) {
	sys := newSystem(t)
	th := sharedThread(t, sys)
	const messages = 5000
	var handled, seen atomic.Int32
	busy, goOn := make(chan struct{}), make(chan struct{})
	flooded := spawn(t, sys, "flooded", On(th), func(ctx Context) {
		switch ctx.Message().(type) {
		case string:
			close(busy)
			<-goOn
		case int:
			handled.Add(1)
		}
	})
	sys.Root().Send(flooded.PID(), "wait")
	await(t, "it waits", busy)
	for i := range messages {
		sys.Root().Send(flooded.PID(), i)
	}
	neighbour := start(t, sys, "neighbour", On(th), func(*Stream) error { seen.Store(handled.Load()); return nil })
	close(goOn)
	finish(t, neighbour)
	if n := seen.Load(); n > 200 {
		t.Errorf("the neighbour ran after %d messages, want at most 200", n)
	}
	until(t, "all are handled", func() bool { return handled.Load() == messages })
	flooded.Stop()
	finish(t, flooded)

	// A function is flooded with what it never handles.
	var dead atomic.Int32
	sub := sys.ActorSystem().EventStream.Subscribe(func(e any) {
		if _, ok := e.(*proto.DeadLetterEvent); ok {
			dead.Add(1)
		}
	})
	defer sys.ActorSystem().EventStream.Unsubscribe(sub)
	function := start(t, sys, "function", On(th), func(s *Stream) error { s.Rest(); return nil })
	suspended(t, function)
	busy, goOn = make(chan struct{}), make(chan struct{})
	blocker := start(t, sys, "blocker", On(th), func(*Stream) error {
		close(busy)
		<-goOn
		return nil
	})
	await(t, "the thread is busy", busy)
	for i := range messages {
		sys.Root().Send(function.PID(), i)
	}
	neighbour = start(t, sys, "neighbour", On(th), func(*Stream) error { seen.Store(dead.Load()); return nil })
	close(goOn)
	finish(t, neighbour, blocker)
	if n := seen.Load(); n > 200 {
		t.Errorf("the neighbour ran after %d dead letters, want at most 200", n)
	}
	until(t, "all are dead letters", func() bool { return dead.Load() == messages })
	function.Stop()
	finish(t, function)
}

// A thread on which many actors have called Goexit is still a thread like any other.
func TestManyGoexitsOnOneThread(t *testing.T) {
	sys := newSystem(t)
	th := sharedThread(t, sys)
	for range 300 {
		ref := start(t, sys, "leaver", On(th), func(*Stream) error { runtime.Goexit(); return nil })
		if err := ref.Wait(soon(t)); !errors.Is(err, ErrGoexit) {
			t.Fatal(err)
		}
	}
	rally(t, sys, On(th), On(th), 20)
}

// Tasks are done on a stream whoever of the two is running, and by an actor that is
// asked while it asks.
func TestDo(t *testing.T) {
	sys := newSystem(t)
	const n = 300
	var done [2]atomic.Int32
	refs := make([]*Ref, 2)
	ready := make(chan struct{})
	for i := range refs {
		refs[i] = start(t, sys, fmt.Sprint("asker ", i), sys.Device(i), func(s *Stream) error {
			<-ready
			for range n {
				if err := s.Do(refs[1-i], look(func() { done[1-i].Add(1) })); err != nil && !errors.Is(err, ErrStopped) {
					return err
				}
			}
			s.Rest()
			return nil
		})
	}
	close(ready)
	until(t, "all tasks are done", func() bool { return done[0].Load() == n && done[1].Load() == n })
	for _, r := range refs {
		r.Stop()
	}
	finish(t, refs...)
	finish(t, start(t, sys, "late", sys.Device(0), func(s *Stream) error {
		if err := s.Do(refs[0], nothing{}); !errors.Is(err, ErrStopped) {
			t.Errorf("a task for an actor that has ended: %v", err)
		}
		return nil
	}))
}

// A task that an actor leaves undone when it ends is answered.
func TestDoOfAnActorThatEnds(t *testing.T) {
	sys := newSystem(t)
	busy, asked := make(chan struct{}), make(chan struct{})
	ender := start(t, sys, "ender", sys.Device(0), func(s *Stream) error {
		close(busy)
		<-asked
		return nil
	})
	asker := start(t, sys, "asker", sys.Device(0), func(s *Stream) error {
		<-busy
		if err := s.Do(ender, nothing{}); err != nil && !errors.Is(err, ErrStopped) {
			return err
		}
		return nil
	})
	until(t, "it is asked", func() bool { return ender.s.asks.Load() > 0 })
	close(asked)
	finish(t, ender, asker)
}

// Whoever waits for the GPU is asked for also while its neighbours always have
// something to do.
func TestBusyNeighboursDoNotKeepAWaitFromEnding(t *testing.T) {
	sys := newSystem(t)
	th := sharedThread(t, sys)
	var over atomic.Bool
	gates := make(chan *gate, 1)
	there, back := NewChan[int](1), NewChan[int](1)
	echo := start(t, sys, "echo", On(th), func(s *Stream) error {
		for v, err := range there.All(s) {
			if err := errors.Join(err, back.Send(s, v)); err != nil {
				return err
			}
		}
		return nil
	})
	asker := start(t, sys, "asker", On(th), func(s *Stream) error {
		defer there.Close()
		end := time.Now().Add(longest)
		for round := 0; !over.Load(); round++ {
			if round > 100 {
				select {
				case g := <-gates:
					g.open()
				default: // the thread is not to be blocked
				}
			}
			if time.Now().After(end) {
				return errors.New("the neighbour's wait did not end")
			}
			if err := there.Send(s, 1); err != nil {
				return err
			}
			if _, err := back.Recv(s); err != nil {
				return err
			}
		}
		return nil
	})
	waits := start(t, sys, "waits", On(th), func(s *Stream) error {
		g, err := newGate(s)
		if err != nil {
			return err
		}
		if err := g.hold(s); err != nil {
			return err
		}
		gates <- g
		err = s.Synchronize()
		over.Store(true)
		return err
	})
	finish(t, waits, echo, asker)
}
