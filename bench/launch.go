package bench

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/device"
)

// itemLen is the length of small buffers: 4 KiB.
const itemLen = 4 * KiB / 4

// zeroed is a buffer of zeros, for kernels that count in it.
func zeroed(s *actor.Stream) (buffer.Buf[uint32], error) {
	b, err := buffer.New[uint32](s, itemLen)
	if err != nil {
		return b, err
	}
	return b, b.Fill(s, 0)
}

// add1 launches a kernel that adds one to each word.
func add1(s *actor.Stream, b buffer.Buf[uint32]) error {
	return s.Launch(add32, device.Linear(itemLen), b.InOut(), device.U32(1), device.U32(itemLen))
}

// span is when the first of several began and the last one ended.
type span struct {
	mu           sync.Mutex
	began, ended time.Time
}

func (s *span) add(began, ended time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began.IsZero() || began.Before(s.began) {
		s.began = began
	}
	if ended.After(s.ended) {
		s.ended = ended
	}
}

// gate lets several actors begin together, without holding their threads.
type gate struct{ arrived, open *actor.Chan[int] }

func newGate(n int) gate { return gate{actor.NewChan[int](n), actor.NewChan[int](n)} }

func (g gate) pass(s *actor.Stream) error {
	if err := g.arrived.Send(s, 0); err != nil {
		return err
	}
	_, err := g.open.Recv(s)
	return err
}

// lift opens the gate when n have arrived.
func (g gate) lift(grp *actor.Group, n int) error { return g.hold(grp, n, nil) }

// hold runs f, where there is one, when n have arrived, and opens the gate then.
func (g gate) hold(grp *actor.Group, n int, f func() error) error {
	for range n {
		if _, err := g.arrived.RecvCtx(grp.Context()); err != nil {
			return err
		}
	}
	var err error
	if f != nil {
		err = f()
	}
	for range n {
		if err := g.open.SendCtx(grp.Context(), 0); err != nil {
			return err
		}
	}
	return err
}

// launches is the aggregate rate of actors that launch n kernels each, in millions
// a second: from when the first of them begins until the last one knows that its own
// are done. Nothing else is done meanwhile: what follows waits at a gate. at places the
// ith actor.
func launches(h *hall, actors, n int, at func(i int) (actor.Placement, error)) (float64, error) {
	var all span
	start, end := newGate(actors), newGate(actors)
	g, cancel := h.group()
	defer cancel()
	for i := range actors {
		place, err := at(i)
		if err != nil {
			return 0, err
		}
		g.Go(fmt.Sprintf("launcher-%d", i), place, func(s *actor.Stream) error {
			b, err := zeroed(s)
			if err != nil {
				return err
			}
			if err := s.Synchronize(); err != nil {
				return err
			}
			if err := start.pass(s); err != nil {
				return err
			}
			began := time.Now()
			for range n {
				if err := add1(s, b); err != nil {
					return err
				}
			}
			if err := s.Synchronize(); err != nil {
				return err
			}
			all.add(began, time.Now())
			if err := end.pass(s); err != nil {
				return err
			}
			if err := checkWords(s, b, uint32(n)); err != nil {
				return err
			}
			return b.Release(s)
		})
	}
	lifted := start.lift(g, actors)
	if lifted == nil {
		lifted = end.lift(g, actors)
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	if lifted != nil {
		return 0, lifted
	}
	return float64(actors*n) / float64(all.ended.Sub(all.began).Nanoseconds()) * 1e3, nil
}

// launchers is a round of actors on threads of their own, total launches in all.
func launchers(actors, total int) func(*Rig) (float64, error) {
	return func(r *Rig) (float64, error) {
		h, err := r.hall(setup{})
		if err != nil {
			return 0, err
		}
		return launches(h, actors, r.few(total)/actors, func(int) (actor.Placement, error) { return h.Device(0), nil })
	}
}

// known is the time from a launch on an idle stream until its actor goes on,
// knowing that it has finished: the median.
func known(policy actor.Policy, n int) func(*Rig) (float64, error) {
	return func(r *Rig) (float64, error) {
		h, err := r.hall(setup{policy: policy})
		if err != nil {
			return 0, err
		}
		n := r.few(n)
		took := make([]float64, 0, n)
		g, cancel := h.group()
		defer cancel()
		g.Go("launcher", h.Device(0), func(s *actor.Stream) error {
			b, err := zeroed(s)
			if err != nil {
				return err
			}
			if err := s.Synchronize(); err != nil {
				return err
			}
			for range n {
				t := time.Now()
				if err := add1(s, b); err != nil {
					return err
				}
				if err := s.Synchronize(); err != nil {
					return err
				}
				took = append(took, float64(time.Since(t).Nanoseconds()))
			}
			if err := checkWords(s, b, uint32(n)); err != nil {
				return err
			}
			return b.Release(s)
		})
		if err := g.Wait(); err != nil {
			return 0, err
		}
		return median(took), nil
	}
}

// median sorts its samples.
func median(samples []float64) float64 {
	slices.Sort(samples)
	return samples[len(samples)/2]
}

func launchRounds() []Round {
	all := []Round{
		{"known", "go-balanced", Nanoseconds, known(actor.Balanced, 3000)},
		{"known", "go-latency", Nanoseconds, known(actor.Latency, 3000)},
		{"known", "go-frugal", Nanoseconds, known(actor.Frugal, 500)},
	}
	for _, c := range []struct{ actors, total int }{{1, 20000}, {2, 30000}, {4, 40000}, {8, 60000}, {16, 60000}} {
		all = append(all, Round{fmt.Sprintf("launches-%d", c.actors), "go", Millions, launchers(c.actors, c.total)})
	}
	return all
}
