package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpuactor/gpuactor/actor"
)

// ping is a message without anything in it.
type ping struct{}

// hot is the time from a send, by an actor on one thread to one on another that has
// nothing to do but did have a moment ago, until the driver has returned from the
// launch that the message asks for: the median.
func hot(policy actor.Policy, n int) func(*Rig) (float64, error) {
	return func(r *Rig) (float64, error) {
		h, err := r.hall(setup{policy: policy})
		if err != nil {
			return 0, err
		}
		n := r.few(n)
		took := make([]float64, 0, n)
		answers := actor.NewChan[time.Time](1)
		g, cancel := h.group()
		defer cancel()
		worker, err := h.Spawn("worker", h.Device(0), actor.PropsFromProducer(func() actor.Receiver {
			return &launcher{answers: answers}
		}))
		if err != nil {
			return 0, err
		}
		g.Go("sender", h.Device(0), func(s *actor.Stream) error {
			defer worker.Stop()
			for range n {
				began := time.Now()
				if err := s.Send(worker.PID(), ping{}); err != nil {
					return err
				}
				at, err := answers.Recv(s)
				if err != nil {
					return err
				}
				took = append(took, float64(at.Sub(began).Nanoseconds()))
			}
			return s.Send(worker.PID(), want(n))
		})
		if err := errors.Join(g.Wait(), ended(worker)); err != nil {
			return 0, err
		}
		return median(took), nil
	}
}

// want asks a launcher to check how often it was asked.
type want uint32

// launcher launches a kernel for each message and says when the driver had it.
type launcher struct {
	answers *actor.Chan[time.Time]
	counter counter
}

func (l *launcher) Receive(ctx actor.Context) {
	s := actor.StreamOf(ctx)
	var err error
	switch m := ctx.Message().(type) {
	case *actor.Started:
		err = l.counter.make(s)
	case ping:
		err = errors.Join(add1(s, l.counter.buf), s.Submit(), l.answers.Send(s, time.Now()))
	case want:
		err = checkWords(s, l.counter.buf, uint32(m))
	}
	if err != nil {
		panic(err) // it is the actor's failure
	}
}

// parked is the time from a send by an ordinary goroutine to an actor that has had
// nothing to do for a while, until its handler runs: the median.
func parked(policy actor.Policy, n int) func(*Rig) (float64, error) {
	return func(r *Rig) (float64, error) {
		h, err := r.hall(setup{policy: policy})
		if err != nil {
			return 0, err
		}
		n := min(n, r.few(10*n))
		took := make([]float64, 0, n)
		got := make(chan time.Time, 1)
		worker, err := h.Spawn("worker", h.Device(0), actor.PropsFromFunc(func(ctx actor.Context) {
			if _, ok := ctx.Message().(ping); ok {
				got <- time.Now()
			}
		}))
		if err != nil {
			return 0, err
		}
		for range n {
			time.Sleep(300 * time.Microsecond)
			began := time.Now()
			h.Root().Send(worker.PID(), ping{})
			took = append(took, float64((<-got).Sub(began).Nanoseconds()))
		}
		worker.Stop()
		if err := ended(worker); err != nil {
			return 0, err
		}
		return median(took), nil
	}
}

// spawner starts an actor in message style, ours or one of protoactor's own, and
// says how to stop it. Everything else of what follows is the same for both.
type spawner func(name string, f actor.ReceiveFunc) (*actor.PID, func() error, error)

// stock starts protoactor's own actors.
func stock(h *hall) spawner {
	return func(_ string, f actor.ReceiveFunc) (*actor.PID, func() error, error) {
		pid := h.Root().Spawn(actor.PropsFromFunc(f))
		return pid, func() error { return h.Root().StopFuture(pid).Wait() }, nil
	}
}

// ours starts stream actors, at places that at chooses.
func ours(h *hall, at func() (actor.Placement, error)) spawner {
	return func(name string, f actor.ReceiveFunc) (*actor.PID, func() error, error) {
		place, err := at()
		if err != nil {
			return nil, nil, err
		}
		ref, err := h.Spawn(name, place, actor.PropsFromFunc(f))
		if err != nil {
			return nil, nil, err
		}
		return ref.PID(), func() error { ref.Stop(); return ended(ref) }, nil
	}
}

// tell is the time of a message from an ordinary goroutine, when many are sent.
func tell(h *hall, spawn spawner, n int) (float64, error) {
	done := make(chan struct{})
	got := 0
	pid, stop, err := spawn("teller", func(ctx actor.Context) {
		if _, ok := ctx.Message().(ping); !ok {
			return
		}
		if got++; got == n {
			close(done)
		}
	})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for range n {
		h.Root().Send(pid, ping{})
	}
	if err := within(done); err != nil {
		return 0, err
	}
	took := time.Since(began)
	if err := stop(); err != nil {
		return 0, err
	}
	if got != n {
		return 0, fmt.Errorf("%d messages came, %d were sent", got, n)
	}
	return float64(took.Nanoseconds()) / float64(n), nil
}

// asker is how an ordinary goroutine asks.
type asker func(h *hall, pid *actor.PID, message any) (any, error)

// future asks with protoactor's own future.
func future(h *hall, pid *actor.PID, message any) (any, error) {
	return h.Root().RequestFuture(pid, message, limit).Result()
}

// call asks with the library's own call.
func call(h *hall, pid *actor.PID, message any) (any, error) {
	return h.Request(context.Background(), pid, message)
}

// request is the time of a request by an ordinary goroutine, which waits for the
// answer.
func request(ask asker) func(*hall, spawner, int) (float64, error) {
	return func(h *hall, spawn spawner, n int) (float64, error) {
		pid, stop, err := spawn("answerer", func(ctx actor.Context) {
			if v, ok := ctx.Message().(int); ok {
				ctx.Respond(v + 1)
			}
		})
		if err != nil {
			return 0, err
		}
		began := time.Now()
		for i := range n {
			v, err := ask(h, pid, i)
			if err != nil {
				return 0, err
			}
			if v != i+1 {
				return 0, fmt.Errorf("the answer to %d is %v", i, v)
			}
		}
		took := time.Since(began)
		return float64(took.Nanoseconds()) / float64(n), stop()
	}
}

// pingPong is the time of a message between two actors that answer each other, n
// times in all.
func pingPong(h *hall, spawn spawner, n int) (float64, error) {
	done := make(chan struct{})
	last := -1
	player := func(ctx actor.Context) {
		v, ok := ctx.Message().(int)
		if !ok {
			return
		}
		if v == n {
			last = v
			close(done)
			return
		}
		ctx.Request(ctx.Sender(), v+1)
	}
	a, stopA, err := spawn("a", player)
	if err != nil {
		return 0, err
	}
	b, stopB, err := spawn("b", player)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	h.Root().RequestWithCustomSender(a, 1, b)
	if err := within(done); err != nil {
		return 0, err
	}
	took := time.Since(began)
	if err := errors.Join(stopA(), stopB()); err != nil {
		return 0, err
	}
	if last != n {
		return 0, fmt.Errorf("the ball came %d times, not %d", last, n)
	}
	return float64(took.Nanoseconds()) / float64(n), nil
}

// within waits for done as long as a round may take.
func within(done <-chan struct{}) error {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
		return nil
	case <-t.C:
		return fmt.Errorf("bench: a round took more than %v", limit)
	}
}

// played is a round of one of the three.
func played(game func(*hall, spawner, int) (float64, error), who string, n int) func(*Rig) (float64, error) {
	return func(r *Rig) (float64, error) {
		h, err := r.hall(setup{})
		if err != nil {
			return 0, err
		}
		spawn := stock(h)
		switch who {
		case "threads":
			spawn = ours(h, func() (actor.Placement, error) { return h.Device(0), nil })
		case "colocated":
			spawn = ours(h, func() (actor.Placement, error) {
				t, err := h.thread(0)
				if err != nil {
					return nil, err
				}
				return actor.On(t), nil
			})
		}
		return game(h, spawn, r.few(n))
	}
}

func messageRounds() []Round {
	all := []Round{
		{"message-hot", "go-balanced", Nanoseconds, hot(actor.Balanced, 3000)},
		{"message-hot", "go-latency", Nanoseconds, hot(actor.Latency, 3000)},
	}
	for _, p := range []actor.Policy{actor.Balanced, actor.Latency, actor.Frugal} {
		all = append(all, Round{"message-parked", "go-" + p.String(), Nanoseconds, parked(p, 300)})
	}
	return append(all,
		Round{"tell", "stock", Nanoseconds, played(tell, "stock", 100000)},
		Round{"tell", "go", Nanoseconds, played(tell, "threads", 100000)},
		Round{"request", "stock", Nanoseconds, played(request(future), "stock", 5000)},
		Round{"request", "go", Nanoseconds, played(request(call), "threads", 5000)},
		Round{"request", "go-future", Nanoseconds, played(request(future), "threads", 5000)},
		Round{"ping-pong", "stock", Nanoseconds, played(pingPong, "stock", 50000)},
		Round{"ping-pong", "go-threads", Nanoseconds, played(pingPong, "threads", 5000)},
		Round{"ping-pong", "go-colocated", Nanoseconds, played(pingPong, "colocated", 50000)},
	)
}
