package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/bench/null"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	"github.com/gpuactor/gpuactor/cudart/sim"
	"github.com/gpuactor/gpuactor/device"
)

// The kernels are those of the baseline: one PTX.
var (
	module = device.NewModule(cudarttest.Kernels)
	fill32 = module.Kernel("fill32", device.Out[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())
	add32  = module.Kernel("add32", device.InOut[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())
)

// Rig keeps the systems that rounds run on, since opening one takes longer than a
// round. It is used by one goroutine.
type Rig struct {
	Runtime string // auto, nvidia or sim; empty: GPUACTOR_RUNTIME, else auto
	Quick   bool   // a fraction of the work: does it run, not how fast

	rt    cudart.Runtime
	null  *null.Runtime
	sim   cudart.Runtime // whatever rt is
	halls map[setup]*hall

	seed  uint32              // of the last block that was copied
	races func(*check.Report) // in a test: what the race checker, which is on then, finds
}

// setup is what systems differ in.
type setup struct {
	policy    actor.Policy
	virtual   int  // contexts on the first GPU
	null      bool // on the null runtime
	simulated bool // on two devices of a simulator of its own
	counting  bool
}

// hall is a system with what rounds of it share.
type hall struct {
	*actor.System
	count   *cudarttest.Counter // where it counts
	threads []*actor.Thread
}

// hall opens a system, or finds the one that it opened before.
func (r *Rig) hall(s setup) (*hall, error) {
	if h := r.halls[s]; h != nil {
		return h, nil
	}
	rt, err := r.runtime(s)
	if err != nil {
		return nil, err
	}
	h := &hall{}
	if s.counting {
		h.count = cudarttest.Counting(rt)
		rt = h.count
	}
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	opts := []actor.Option{actor.WithOpenRuntime(rt), actor.WithPolicy(s.policy), actor.WithLogger(quiet), actor.WithMaxThreads(2000)}
	switch {
	case s.virtual > 0:
		opts = append(opts, actor.WithVirtual(s.virtual))
	case s.simulated:
		opts = append(opts, actor.WithDevices(2))
	default:
		opts = append(opts, actor.WithDevices(1))
	}
	if r.races != nil && !s.null {
		opts = append(opts, actor.WithCheck(r.races))
	}
	if h.System, err = actor.NewSystem(opts...); err != nil {
		return nil, err
	}
	if err := h.Load(module); err != nil {
		return nil, errors.Join(err, h.close())
	}
	if r.halls == nil {
		r.halls = map[setup]*hall{}
	}
	r.halls[s] = h
	return h, nil
}

func (r *Rig) runtime(s setup) (cudart.Runtime, error) {
	if s.null {
		if r.null == nil {
			r.null = null.New(2)
		}
		return r.null, nil
	}
	if s.simulated {
		if r.sim == nil {
			r.sim = sim.New(sim.Config{})
		}
		return r.sim, nil
	}
	if r.rt == nil {
		rt, err := cudart.Open(cudart.Options{Name: r.Runtime})
		if err != nil {
			return nil, err
		}
		r.rt = rt
	}
	return r.rt, nil
}

// thread is the ith of the threads that actors of the hall share.
func (h *hall) thread(i int) (*actor.Thread, error) {
	for len(h.threads) <= i {
		t, err := h.NewThread(h.Device(0))
		if err != nil {
			return nil, err
		}
		h.threads = append(h.threads, t)
	}
	return h.threads[i], nil
}

func (h *hall) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return h.Close(ctx)
}

// Close closes the systems and the runtimes.
func (r *Rig) Close() error {
	var errs []error
	for _, h := range r.halls {
		errs = append(errs, h.close())
	}
	clear(r.halls)
	for _, rt := range []*cudart.Runtime{&r.rt, &r.sim} {
		if *rt != nil {
			errs = append(errs, (*rt).Close())
			*rt = nil
		}
	}
	return errors.Join(errs...)
}

// calls is what a runtime was asked for.
type calls struct{ crossings, launches, records, waits int }

func callsOf(c *cudarttest.Counter) calls {
	return calls{c.Calls(), c.Commands(cudart.OpLaunch), c.Commands(cudart.OpRecord), c.Commands(cudart.OpWait)}
}

// since is what it was asked for after before.
func (c calls) since(before calls) calls {
	return calls{c.crossings - before.crossings, c.launches - before.launches, c.records - before.records, c.waits - before.waits}
}

// few is n, or a small part of it in a quick rig.
func (r *Rig) few(n int) int {
	if r.Quick {
		return max(n/100, min(n, 200))
	}
	return n
}

// small is a size in bytes, or less in a quick rig.
func (r *Rig) small(bytes int) int {
	if r.Quick {
		return min(bytes, 16*MiB)
	}
	return bytes
}

// limit is how long a round may take.
const limit = time.Minute

// group runs the actors of a round.
func (h *hall) group() (*actor.Group, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, fmt.Errorf("bench: a round took more than %v", limit))
	return h.Group(ctx), cancel
}
