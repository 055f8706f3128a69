package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
)

// counter is a buffer that its kernels count in.
type counter struct{ buf buffer.Buf[uint32] }

func (c *counter) make(s *actor.Stream) (err error) {
	c.buf, err = zeroed(s)
	return err
}

// ended waits for the end of an actor, and is how it ended.
func ended(ref *actor.Ref) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return ref.Wait(ctx)
}

// idlers starts actors that do nothing, on threads of their own, and returns how to
// stop them all.
func idlers(h *hall, n int) (stop func() error, err error) {
	var refs []*actor.Ref
	stop = func() error {
		var errs []error
		for _, r := range refs {
			r.Stop()
		}
		for _, r := range refs {
			errs = append(errs, ended(r))
		}
		return errors.Join(errs...)
	}
	for i := range n {
		r, err := h.Go(fmt.Sprintf("idler-%d", i), h.Device(0), func(s *actor.Stream) error { s.Rest(); return nil })
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		refs = append(refs, r)
	}
	return stop, nil
}

// idleCPU is the CPU time of the whole process while a hundred actors have nothing
// to do, in percent of one core.
func idleCPU(policy actor.Policy) func(*Rig) (float64, error) {
	return func(r *Rig) (float64, error) {
		h, err := r.hall(setup{policy: policy})
		if err != nil {
			return 0, err
		}
		stop, err := idlers(h, 100)
		if err != nil {
			return 0, err
		}
		runtime.GC() // what it would do some time is not the idlers'
		time.Sleep(50 * time.Millisecond)
		began := time.Now()
		before, err := cpuTime()
		time.Sleep(400 * time.Millisecond)
		after, err2 := cpuTime()
		took := time.Since(began)
		return float64(after-before) / float64(took) * 100, errors.Join(err, err2, stop())
	}
}

// busy is the rate of ten actors that launch, among others that do nothing.
func busy(others int) func(*Rig) (float64, error) {
	return func(r *Rig) (float64, error) {
		h, err := r.hall(setup{})
		if err != nil {
			return 0, err
		}
		stop, err := idlers(h, others)
		if err != nil {
			return 0, err
		}
		v, err := launches(h, 10, r.few(40000)/10, func(int) (actor.Placement, error) { return h.Device(0), nil })
		return v, errors.Join(err, stop())
	}
}

// thousand is the rate of a thousand actors' launches on four threads.
func thousand(r *Rig) (float64, error) {
	h, err := r.hall(setup{})
	if err != nil {
		return 0, err
	}
	return launches(h, 1000, max(2, r.few(40000)/1000), func(i int) (actor.Placement, error) {
		t, err := h.thread(i % 4)
		if err != nil {
			return nil, err
		}
		return actor.On(t), nil
	})
}

// actorMemory is what each of a thousand actors on four threads adds to the process,
// the driver's part in it. It is measured once: later there would be memory left
// over from before.
func actorMemory(r *Rig) (float64, error) {
	if r.memory > 0 {
		return r.memory, nil
	}
	h, err := r.hall(setup{})
	if err != nil {
		return 0, err
	}
	const n = 1000
	before, err := residentBytes()
	if err != nil {
		return 0, err
	}
	g, cancel := h.group()
	defer cancel()
	start := newGate(n)
	for i := range n {
		t, err := h.thread(i % 4)
		if err != nil {
			return 0, err
		}
		g.Go(fmt.Sprintf("actor-%d", i), actor.On(t), func(s *actor.Stream) error {
			b, err := zeroed(s)
			if err != nil {
				return err
			}
			if err := errors.Join(add1(s, b), s.Synchronize()); err != nil {
				return err
			}
			return errors.Join(start.pass(s), checkWords(s, b, 1), b.Release(s))
		})
	}
	var after uint64
	err = start.hold(g, n, func() error {
		var err error
		after, err = residentBytes()
		return err
	})
	if err := errors.Join(g.Wait(), err); err != nil {
		return 0, err
	}
	r.memory = float64(after-min(before, after)) / n / KiB
	return r.memory, nil
}

func crowdRounds() []Round {
	return []Round{
		{"idle-100", "go-balanced", Percent, idleCPU(actor.Balanced)},
		{"idle-100", "go-latency", Percent, idleCPU(actor.Latency)},
		{"idle-100", "go-frugal", Percent, idleCPU(actor.Frugal)},
		{"busy-10", "go-alone", Millions, busy(0)},
		{"busy-10", "go-among-100", Millions, busy(90)},
		{"thousand-memory", "go", Kilobytes, actorMemory},
		{"thousand", "go", Millions, thousand},
	}
}
