package bench

import (
	"fmt"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
)

// allocs is the time of allocating and releasing 4 KiB in steady state, in which
// the driver is not called.
func allocs(s setup, n int) func(*Rig) (float64, error) {
	s.counting = true
	return func(r *Rig) (float64, error) {
		h, err := r.hall(s)
		if err != nil {
			return 0, err
		}
		n := r.few(n)
		var took time.Duration
		g, cancel := h.group()
		defer cancel()
		g.Go("allocator", h.Device(0), func(s *actor.Stream) error {
			if err := allocPair(s); err != nil {
				return err
			}
			if err := s.Synchronize(); err != nil {
				return err
			}
			before, reserved := h.count.Calls(), h.Device(0).Memory().Reserved
			began := time.Now()
			for range n {
				if err := allocPair(s); err != nil {
					return err
				}
			}
			took = time.Since(began)
			// The threads of the round before may still be letting go of the context.
			if c := h.count.Calls() - before; c > 2 {
				return fmt.Errorf("the driver was called %d times", c)
			}
			if now := h.Device(0).Memory().Reserved; now != reserved {
				return fmt.Errorf("reserved memory went from %d to %d bytes", reserved, now)
			}
			return nil
		})
		if err := g.Wait(); err != nil {
			return 0, err
		}
		return float64(took.Nanoseconds()) / float64(n), nil
	}
}

// allocPair is an item's memory, taken and given back.
func allocPair(s *actor.Stream) error {
	b, err := buffer.New[uint32](s, itemLen)
	if err != nil {
		return err
	}
	return b.Release(s)
}

func allocRounds() []Round {
	return []Round{{"alloc", "go", Nanoseconds, allocs(setup{}, 200000)}}
}
