package transfer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	"github.com/gpuactor/gpuactor/cudart/sim"
	"github.com/gpuactor/gpuactor/device"
)

// rig is a system with actors that do what the test says, one thing after another.
// When the test ends no buffer, actor, thread or stream is left.
type rig struct {
	testing.TB
	sys   *actor.System
	edges *edges
	ctx   context.Context
	gates []*gate
	live  int
}

func newRig(t testing.TB, c sim.Config, opts ...actor.Option) *rig {
	t.Helper()
	r := &rig{TB: t, edges: newEdges(openRuntime(t, c)), live: buffer.Live()}
	if onDriver() {
		opts = append(opts, actor.WithVirtual(2))
	}
	opts = append(append(opts, checked(t)...), actor.WithOpenRuntime(r.edges), actor.WithLogger(slog.New(slog.DiscardHandler)))
	sys, err := actor.NewSystem(opts...)
	r.ok(err)
	r.sys = sys
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	r.ctx = ctx
	t.Cleanup(func() {
		defer cancel()
		r.close()
	})
	r.ok(sys.Load(module)) // it waits for the device: before any gate is closed
	return r
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) close() {
	for _, g := range r.gates {
		g.open()
	}
	if err := r.sys.Close(r.ctx); err != nil {
		r.Error(err)
	}
	if n := r.sys.Counts(); n.Actors != 0 || n.Threads != 0 || n.Streams != 0 || n.Events != 0 {
		r.Errorf("left: %+v", n)
	}
	if n := buffer.Live(); n != r.live {
		r.Errorf("%d buffers are live, there were %d", n, r.live)
	}
	if err := r.edges.Close(); err != nil {
		r.Error(err)
	}
}

// hand is an actor that does what the test tells it to.
type hand struct {
	r   *rig
	ref *actor.Ref
	ch  *actor.Chan[func(*actor.Stream)]
}

// hand starts one. Its name is its stream's, for edges.
func (r *rig) hand(d int, name string) *hand {
	r.Helper()
	h := &hand{r: r, ch: actor.NewChan[func(*actor.Stream)](1)}
	ref, err := r.sys.Go(name, r.sys.Device(d), func(s *actor.Stream) error {
		for {
			f, err := h.ch.Recv(s)
			if err != nil {
				return nil // the test is over
			}
			f(s)
		}
	})
	r.ok(err)
	h.ref = ref
	h.do(func(s *actor.Stream) error {
		r.edges.name(s.CUDA())
		return nil
	})
	return h
}

// start has the actor do something, and gives what comes of it.
func (h *hand) start(f func(*actor.Stream) error) <-chan error {
	h.r.Helper()
	result := make(chan error, 1)
	h.r.ok(h.ch.SendCtx(h.r.ctx, func(s *actor.Stream) { result <- f(s) }))
	return result
}

// try has the actor do something, and waits for it.
func (h *hand) try(f func(*actor.Stream) error) error {
	h.r.Helper()
	select {
	case err := <-h.start(f):
		return err
	case <-h.r.ctx.Done():
		h.r.Fatal("an actor never did what it was told")
		return nil
	}
}

// do is try, of what must succeed.
func (h *hand) do(f func(*actor.Stream) error) {
	h.r.Helper()
	h.r.ok(h.try(f))
}

// stop ends the actor, and waits for that.
func (h *hand) stop() {
	h.r.Helper()
	h.ref.Stop()
	h.r.ok(h.ref.Wait(h.r.ctx))
}

var (
	module = device.NewModule(cudarttest.Kernels)
	fill32 = module.Kernel("fill32", device.Out[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())
	copy32 = module.Kernel("copy32", device.Out[uint32](), device.In[uint32](), device.Scalar[uint32]())
	gate32 = module.Kernel("gate", device.In[uint32](), device.Scalar[uint64]())
)

// Buf is what most tests move.
type Buf = buffer.Buf[uint32]

// words is the length of most buffers: 1 MiB, so that the pool looks at once for
// blocks that are free.
const words = 1 << 18

// filled is a new buffer of the hand's, whose every word a kernel makes v.
func (h *hand) filled(v uint32) (b Buf) {
	h.r.Helper()
	h.do(func(s *actor.Stream) (err error) {
		if b, err = buffer.New[uint32](s, words); err != nil {
			return err
		}
		return fill(s, b, v)
	})
	return b
}

func fill(s *actor.Stream, b Buf, v uint32) error {
	return s.Launch(fill32, device.Linear(b.Len()), b.Out(), device.U32(v), device.U32(uint32(b.Len())))
}

func duplicate(s *actor.Stream, dst, src Buf) error {
	return s.Launch(copy32, device.Linear(dst.Len()), dst.Out(), src.In(), device.U32(uint32(dst.Len())))
}

// send hands a buffer from one hand to another, through a channel.
func (h *hand) send(to *hand, b Buf) {
	h.r.Helper()
	ch := actor.NewChan[Buf](1)
	h.do(func(s *actor.Stream) error { return ch.Send(s, b) })
	to.do(func(s *actor.Stream) error {
		_, err := ch.Recv(s)
		return err
	})
}

// pull has the hand pull a buffer.
func (h *hand) pull(b Buf, opts ...Option) (got Buf) {
	h.r.Helper()
	h.do(func(s *actor.Stream) (err error) {
		got, err = Pull(s, b, opts...)
		return err
	})
	return got
}

// sync waits until the hand's stream is idle.
func (h *hand) sync() {
	h.r.Helper()
	h.do(func(s *actor.Stream) error { return s.Synchronize() })
}

// holds is an error where not every word of b is v; b is released.
func (h *hand) holds(b Buf, v uint32) error {
	h.r.Helper()
	return h.try(func(s *actor.Stream) error {
		got, err := ToSlice(s, b)
		if err := errors.Join(err, b.Release(s)); err != nil {
			return err
		}
		for i, w := range got {
			if w != v {
				return fmt.Errorf("word %d of %d is %d, want %d", i, len(got), w, v)
			}
		}
		return nil
	})
}

func (h *hand) release(bs ...Buf) {
	h.r.Helper()
	h.do(func(s *actor.Stream) error {
		var errs []error
		for _, b := range bs {
			errs = append(errs, b.Release(s))
		}
		return errors.Join(errs...)
	})
}

// gate holds streams: what they are given behind it runs when it is open. One that
// is forgotten opens by itself, so that a test fails and does not hang.
type gate struct {
	flag   *uint32
	closed time.Time
}

// gate makes one, in pinned memory that nobody owns until the runtime is closed.
func (r *rig) gate() *gate {
	r.Helper()
	d := r.sys.Device(0)
	var p unsafe.Pointer
	r.ok(d.Do(func() (err error) {
		p, err = r.edges.AllocHost(d.Context(), 4)
		return err
	}))
	g := &gate{flag: (*uint32)(p)}
	atomic.StoreUint32(g.flag, 0)
	r.gates = append(r.gates, g)
	return g
}

// hold closes the gate in the hand's stream, behind what that was given.
func (g *gate) hold(h *hand) {
	h.r.Helper()
	if g.closed.IsZero() {
		g.closed = time.Now()
	}
	h.do(func(s *actor.Stream) error {
		if err := s.Launch(gate32, device.Blocks(1, 1), device.MemoryArg(g, 1, cudart.In), device.U64(uint64(longest))); err != nil {
			return err
		}
		return s.Submit()
	})
}

func (g *gate) open() { atomic.StoreUint32(g.flag, 1) }

// late reports whether the gate may have opened by itself.
func (g *gate) late() bool { return time.Since(g.closed) > longest/2 }

// Use, Issued and Poison make the flag a kernel's argument.
func (g *gate) Use(uint32, uint32, cudart.Access) (cudart.DevicePtr, uint64, device.Elem, error) {
	return cudart.DevicePtr(uintptr(unsafe.Pointer(g.flag))), 4, reflect.Uint32, nil
}
func (g *gate) Issued(uint32)        {}
func (g *gate) Poison(uint32, error) {}
