package bench

import (
	"context"
	"errors"
	"fmt"
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

// idlers starts actors that do nothing, on threads of their own, and returns these and
// how to stop them all.
func idlers(h *hall, n int) (threads []int, stop func() error, err error) {
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
	began := actor.NewChan[int](max(n, 1))
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for i := range n {
		r, err := h.Go(fmt.Sprintf("idler-%d", i), h.Device(0), func(s *actor.Stream) error {
			if err := began.Send(s, threadID()); err != nil {
				return err
			}
			s.Rest()
			return nil
		})
		if err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		refs = append(refs, r)
	}
	for range n {
		id, err := began.RecvCtx(ctx)
		if err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		threads = append(threads, id)
	}
	return threads, stop, nil
}

// threadTimes is the CPU time that threads have used together.
func threadTimes(ids []int) (all time.Duration, err error) {
	for _, id := range ids {
		t, err := threadTime(id)
		if err != nil {
			return 0, err
		}
		all += t
	}
	return all, nil
}

// idleCPU is the CPU time of the threads of a hundred actors that have nothing to do,
// in percent of one core. What the Go runtime and the driver do in the background is not
// theirs: a process that has worked takes 0.15 % of a core and more for it, with a
// hundred such actors and without one.
func idleCPU(policy actor.Policy) func(*Rig) (float64, error) {
	return func(r *Rig) (float64, error) {
		h, err := r.hall(setup{policy: policy})
		if err != nil {
			return 0, err
		}
		threads, stop, err := idlers(h, 100)
		if err != nil {
			return 0, err
		}
		time.Sleep(100 * time.Millisecond) // until none of them spins
		began := time.Now()
		before, err := threadTimes(threads)
		time.Sleep(400 * time.Millisecond)
		after, err2 := threadTimes(threads)
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
		_, stop, err := idlers(h, others)
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

// standing runs n actors on four threads and f while all of them stand still, each with
// a stream that has worked and a buffer.
func standing(h *hall, n int, f func() error) error {
	g, cancel := h.group()
	defer cancel()
	start := newGate(n)
	for i := range n {
		t, err := h.thread(i % 4)
		if err != nil {
			return err
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
	err := start.hold(g, n, f)
	return errors.Join(g.Wait(), err)
}

// actorMemory is what each of a thousand actors on four threads adds to the process,
// the driver's part in it. The process must be fresh: later there is memory left over
// that they take first.
func actorMemory(r *Rig) (float64, error) {
	h, err := r.hall(setup{})
	if err != nil {
		return 0, err
	}
	if err := standing(h, 4, nil); err != nil { // what the first ones need is not each one's
		return 0, err
	}
	before, err := residentBytes()
	if err != nil {
		return 0, err
	}
	const n = 1000
	var after uint64
	err = standing(h, n, func() (err error) {
		after, err = residentBytes()
		return err
	})
	return float64(after-min(before, after)) / n / KiB, err
}

func crowdRounds() []Round {
	return []Round{
		{"idle-100", "go-balanced", Percent, idleCPU(actor.Balanced)},
		{"idle-100", "go-latency", Percent, idleCPU(actor.Latency)},
		{"idle-100", "go-frugal", Percent, idleCPU(actor.Frugal)},
		{"busy-10", "go-alone", Millions, busy(0)},
		{"busy-10", "go-among-100", Millions, busy(90)},
		{"thousand-memory", "go-fresh", Kilobytes, actorMemory},
		{"thousand", "go", Millions, thousand},
	}
}
