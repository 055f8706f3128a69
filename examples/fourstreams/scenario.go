package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
)

// The streams: two of each device.
const (
	gpu1s1 = "gpu1s1"
	gpu1s2 = "gpu1s2"
	gpu2s1 = "gpu2s1"
	gpu2s2 = "gpu2s2"
)

var streams = []string{gpu1s1, gpu1s2, gpu2s1, gpu2s2}

// The events.
const (
	eventPrepare = "gpu1s1 prepare"
	eventUse     = "gpu1s1 use"
	eventOwn     = "gpu1s2 own"
	eventFill    = "gpu2s1 fill"
	eventCopy    = "copy"
	eventBusy    = "gpu2s2 busy" // with a number behind it
	busyKernels  = 3
)

// plan is how much there is to do. Kernels take at least their time.
type plan struct {
	elements                      int // of the buffer that is copied, each 4 bytes
	prepare, fill, use, own, busy time.Duration
}

// usual is long enough to be seen, and has the unrelated streams busy from before
// the copy until behind it.
var usual = plan{
	elements: 2 << 20,
	prepare:  2500 * time.Microsecond,
	fill:     4 * time.Millisecond,
	use:      3 * time.Millisecond,
	own:      9 * time.Millisecond,
	busy:     3500 * time.Microsecond,
}

// seed makes the data of this program differ from any other's.
const seed = 2026

// step is what an actor can be asked to do.
type step int

const (
	stepWork    step = iota // be busy
	stepPrepare             // work in memory that the copy will be given
	stepFill                // fill a new buffer, and hand it over
	stepPull                // receive it, and copy it here
	stepUse                 // work on the copy
)

// order is what a CPU thread asks of an actor: a plain value.
type order struct {
	step step
	name string // of the event
	busy time.Duration
}

// parcel is what gpu2s1 hands to gpu1s1: a buffer of GPU 2, and the timed events of
// GPU 2 that the copy shall have around it.
type parcel struct {
	data         buffer.Buf[uint32]
	began, ended cudart.Event
}

// scenario is one run.
type scenario struct {
	plan
	sys     *actor.System
	kernels kernels
	trace   *tracer

	orders map[string]*actor.Chan[order] // by stream
	ready  *actor.Chan[string]
	turn   *actor.Chan[bool] // to compare clocks: devices in the way of each other do it badly
	parcel *actor.Chan[parcel]
	pulled *actor.Chan[string]
	source *actor.Ref // gpu2s1, on whose stream the copy is issued

	mu     sync.Mutex
	clocks map[string]clock   // by stream: those of the two devices
	ran    map[string][]event // by stream, each on its device's clock
	wrong  error              // what is wrong with the data that arrived
}

func newScenario(sys *actor.System, k kernels, t *tracer, p plan) *scenario {
	sc := &scenario{
		plan: p, sys: sys, kernels: k, trace: t,
		orders: map[string]*actor.Chan[order]{},
		ready:  actor.NewChan[string](len(streams)),
		turn:   actor.NewChan[bool](1),
		parcel: actor.NewChan[parcel](1),
		pulled: actor.NewChan[string](1),
		clocks: map[string]clock{},
		ran:    map[string][]event{},
	}
	for _, name := range streams {
		sc.orders[name] = actor.NewChan[order](4)
	}
	return sc
}

// run starts the four actors, and then the two threads that keep them busy.
func (sc *scenario) run(ctx context.Context) error {
	if err := sc.sys.Load(sc.kernels.module); err != nil {
		return err
	}
	if err := sc.turn.SendCtx(ctx, true); err != nil {
		return err
	}
	defer sc.parcel.Discard() // what nobody received, where somebody failed
	g := sc.sys.Group(ctx)
	gpu1, gpu2 := sc.sys.Device(0), sc.sys.Device(1)
	sc.source = g.Go(gpu2s1, gpu2, sc.serve)
	g.Go(gpu2s2, gpu2, sc.serve)
	g.Go(gpu1s1, gpu1, sc.serve)
	g.Go(gpu1s2, gpu1, sc.serve)

	var err1, err2 error
	err := sc.allReady(g.Context())
	if err == nil {
		var threads sync.WaitGroup
		threads.Go(func() { err1 = sc.thread1(g.Context()) })
		threads.Go(func() { err2 = sc.thread2(g.Context()) })
		threads.Wait()
	}
	if failed := g.Wait(); failed != nil {
		return failed
	}
	return errors.Join(err, err1, err2)
}

// allReady waits until every actor has what it needs, so that all begin together.
func (sc *scenario) allReady(ctx context.Context) error {
	for range streams {
		if _, err := sc.ready.RecvCtx(ctx); err != nil {
			return err
		}
	}
	return nil
}

// thread1 drives gpu1s1, and the copy from GPU 2 to GPU 1.
func (sc *scenario) thread1(ctx context.Context) error {
	defer sc.orders[gpu1s1].Close()
	defer sc.orders[gpu2s1].Close() // not before the copy has been issued: an actor that ended issues none
	if err := sc.orders[gpu1s1].SendCtx(ctx, order{stepPrepare, eventPrepare, sc.prepare}); err != nil {
		return err
	}
	if err := sc.orders[gpu2s1].SendCtx(ctx, order{stepFill, eventFill, sc.fill}); err != nil {
		return err
	}
	if err := sc.orders[gpu1s1].SendCtx(ctx, order{step: stepPull}); err != nil {
		return err
	}
	if err := sc.orders[gpu1s1].SendCtx(ctx, order{stepUse, eventUse, sc.use}); err != nil {
		return err
	}
	_, err := sc.pulled.RecvCtx(ctx)
	return err
}

// thread2 keeps gpu2s2 busy, and gives gpu1s2 something of its own.
func (sc *scenario) thread2(ctx context.Context) error {
	defer sc.orders[gpu1s2].Close()
	defer sc.orders[gpu2s2].Close()
	if err := sc.orders[gpu1s2].SendCtx(ctx, order{stepWork, eventOwn, sc.own}); err != nil {
		return err
	}
	for i := range busyKernels {
		o := order{stepWork, fmt.Sprint(eventBusy, " ", i+1), sc.busy}
		if err := sc.orders[gpu2s2].SendCtx(ctx, o); err != nil {
			return err
		}
	}
	return nil
}
