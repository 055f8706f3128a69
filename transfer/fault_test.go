package transfer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// things counts what a runtime has made and not destroyed. What a rule did not let go
// counts as gone: the library has done what it can.
type things struct {
	cudart.Runtime
	contexts, streams, events, pools, memory, pinned, modules, graphs atomic.Int64

	tried sync.Map // handles of streams and graphs that were destroyed, or refused to be
}

func (r *things) Unwrap() cudart.Runtime { return r.Runtime }

func (r *things) left() error {
	var left []string
	for _, c := range []struct {
		what string
		n    *atomic.Int64
	}{
		{"contexts", &r.contexts}, {"streams", &r.streams}, {"events", &r.events}, {"pools", &r.pools},
		{"allocations", &r.memory}, {"pinned allocations", &r.pinned}, {"modules", &r.modules}, {"graphs", &r.graphs},
	} {
		if n := c.n.Load(); n != 0 {
			left = append(left, fmt.Sprintf("%d %s", n, c.what))
		}
	}
	if left != nil {
		return errors.New("left in the runtime: " + strings.Join(left, ", "))
	}
	return nil
}

func made[T any](n *atomic.Int64, v T, err error) (T, error) {
	if err == nil {
		n.Add(1)
	}
	return v, err
}

func gone(n *atomic.Int64, err error) error {
	n.Add(-1)
	return err
}

func (r *things) RetainPrimary(d int) (cudart.Context, error) {
	c, err := r.Runtime.RetainPrimary(d)
	return made(&r.contexts, c, err)
}
func (r *things) ReleasePrimary(d int) error { return gone(&r.contexts, r.Runtime.ReleasePrimary(d)) }
func (r *things) CreateStream(ctx cudart.Context) (cudart.Stream, error) {
	s, err := r.Runtime.CreateStream(ctx)
	return made(&r.streams, s, err)
}
func (r *things) CreateEvent(ctx cudart.Context, timing bool) (cudart.Event, error) {
	e, err := r.Runtime.CreateEvent(ctx, timing)
	return made(&r.events, e, err)
}
func (r *things) DestroyEvent(ctx cudart.Context, e cudart.Event) error {
	return gone(&r.events, r.Runtime.DestroyEvent(ctx, e))
}
func (r *things) CreatePool(ctx cudart.Context) (cudart.Pool, error) {
	p, err := r.Runtime.CreatePool(ctx)
	return made(&r.pools, p, err)
}
func (r *things) DestroyPool(ctx cudart.Context, p cudart.Pool) error {
	return gone(&r.pools, r.Runtime.DestroyPool(ctx, p))
}
func (r *things) AllocHost(ctx cudart.Context, n uint64) (unsafe.Pointer, error) {
	p, err := r.Runtime.AllocHost(ctx, n)
	return made(&r.pinned, p, err)
}
func (r *things) FreeHost(ctx cudart.Context, p unsafe.Pointer) error {
	return gone(&r.pinned, r.Runtime.FreeHost(ctx, p))
}
func (r *things) LoadModule(ctx cudart.Context, i cudart.Image) (cudart.Module, error) {
	m, err := r.Runtime.LoadModule(ctx, i)
	return made(&r.modules, m, err)
}
func (r *things) UnloadModule(ctx cudart.Context, m cudart.Module) error {
	return gone(&r.modules, r.Runtime.UnloadModule(ctx, m))
}

func (r *things) InstantiateLaunch(ctx cudart.Context, f cudart.Function, args int) (cudart.LaunchGraph, error) {
	g, err := r.Runtime.InstantiateLaunch(ctx, f, args)
	return made(&r.graphs, g, err)
}

// DestroyStream and DestroyLaunch are tried again where they were refused.
func (r *things) DestroyStream(ctx cudart.Context, s cudart.Stream) error {
	if _, again := r.tried.LoadOrStore(s, true); !again {
		r.streams.Add(-1)
	}
	return r.Runtime.DestroyStream(ctx, s)
}
func (r *things) DestroyLaunch(ctx cudart.Context, g cudart.LaunchGraph) error {
	if _, again := r.tried.LoadOrStore(g, true); !again {
		r.graphs.Add(-1)
	}
	return r.Runtime.DestroyLaunch(ctx, g)
}
func (r *things) Alloc(ctx cudart.Context, p cudart.Pool, n uint64, s cudart.Stream) (cudart.DevicePtr, error) {
	a, err := r.Runtime.Alloc(ctx, p, n, s)
	return made(&r.memory, a, err)
}
func (r *things) Submit(ctx cudart.Context, s cudart.Stream, l *cudart.List) (int, error) {
	for words := l.Words(); len(words) > 0; {
		var c cudart.Command
		if c, words = cudart.Decode(words); c.Op == cudart.OpFree {
			r.memory.Add(-1)
		}
	}
	return r.Runtime.Submit(ctx, s, l)
}

const pieces = 1024 // elements of the pipeline's buffers

// pipeline makes buffers on one device and uses them on another: uploads, kernels, a
// hand-over, a copy between the devices, downloads. All results are right, or there
// is an error.
func pipeline(ctx context.Context, sys *actor.System) error {
	ch := actor.NewChan[Buf](1)
	defer ch.Discard()
	g := sys.Group(ctx)
	g.Go("producer", sys.Device(0), func(s *actor.Stream) error {
		defer ch.Close()
		ones := make([]uint32, pieces)
		for i := range ones {
			ones[i] = 1
		}
		for range 3 {
			up, err := FromSlice(s, ones)
			if err != nil {
				return err
			}
			b, err := buffer.New[uint32](s, pieces)
			if err != nil {
				return err
			}
			if err := duplicate(s, b, up); err != nil {
				return err
			}
			if err := up.Release(s); err != nil {
				return err
			}
			if err := ch.Send(s, b); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go("consumer", sys.Device(1), func(s *actor.Stream) error {
		for far, err := range ch.All(s) {
			if err != nil {
				return err
			}
			b, err := Pull(s, far)
			if err != nil {
				return err
			}
			sum, err := buffer.New[uint32](s, pieces)
			if err != nil {
				return err
			}
			if err := errors.Join(sum.Fill(s, 5), duplicate(s, sum, b)); err != nil {
				return err
			}
			h, err := buffer.NewHost[uint32](s, pieces)
			if err != nil {
				return err
			}
			if err := Download(s, h, sum); err != nil {
				return err
			}
			got, err := h.Slice(s)
			if err != nil {
				return err
			}
			if i := slices.IndexFunc(got, func(w uint32) bool { return w != 1 }); i >= 0 {
				return wrong{i, got[i]}
			}
			if err := errors.Join(h.Release(s), sum.Release(s), b.Release(s)); err != nil {
				return err
			}
		}
		return nil
	})
	return g.Wait()
}

// wrong is a word that is not what it must be, and no error said so.
type wrong struct {
	at  int
	got uint32
}

func (w wrong) Error() string { return fmt.Sprintf("word %d is %d", w.at, w.got) }

// when a rule is in force.
type phase string

const (
	working phase = "working" // from the first call until a pipeline has ended
	closing phase = "closing" // while the system is closed behind one
)

// TestF2_EveryCallFails: of every kind of call and command, the nth fails: with codes
// that refuse it, and with one that says that the device is lost. Whoever asked gets
// an error, or it is overcome; nothing hangs or leaks; afterwards the system works, or
// says that the device is lost.
func TestF2_EveryCallFails(t *testing.T) {
	if onDriver() {
		t.Skip("needs the simulator's rules")
	}
	most := 60
	if testing.Short() || raceEnabled {
		most = 4
	}
	total := 0
	for _, call := range sim.Calls() {
		for _, at := range []phase{working, closing} {
			for _, code := range []cudart.Code{cudart.ErrOutOfMemory, cudart.ErrInvalidValue, cudart.ErrUnknown} {
				t.Run(fmt.Sprintf("%s/%s/%s", call, at, code.Name()), func(t *testing.T) {
					for n := 1; n <= most && !t.Failed(); n++ {
						if !failing(t, at, n, sim.CallFault{Call: call, Code: code, When: sim.Nth(n)}, code.Sticky()) {
							break
						}
						total++
					}
				})
			}
		}
	}
	t.Logf("%d calls failed", total)
}

// TestF1_ATrapAnywhere: the nth kernel traps, or the device falls off at the nth command
// or call: all who wait are let go, and whoever asks hears that the device is lost.
func TestF1_ATrapAnywhere(t *testing.T) {
	if onDriver() {
		t.Skip("needs the simulator's rules")
	}
	most := 80
	if testing.Short() || raceEnabled {
		most = 8
	}
	for name, fault := range map[string]func(n int) sim.Fault{
		"trap":           func(n int) sim.Fault { return sim.KernelFault{Code: cudart.ErrIllegalAddress, When: sim.Nth(n)} },
		"falls running":  func(n int) sim.Fault { return sim.DeviceFault{Device: 0, Running: true, After: n - 1} },
		"falls at calls": func(n int) sim.Fault { return sim.DeviceFault{Device: 1, After: n - 1} },
	} {
		t.Run(name, func(t *testing.T) {
			n := 1
			for n <= most && !t.Failed() && failing(t, working, n, fault(n), true) {
				n++
			}
			t.Logf("%d places", n-1)
		})
	}
}

// failing runs the life of a system with a fault, and reports whether that acted.
func failing(t *testing.T, at phase, n int, f sim.Fault, sticky bool) bool {
	t.Helper()
	bad := func(format string, args ...any) {
		t.Helper()
		t.Errorf("number %d, %s: %s", n, at, fmt.Sprintf(format, args...))
	}
	rt := &things{Runtime: sim.New(sim.Config{})}
	lives, goroutines := buffer.Live(), runtime.NumGoroutine()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var met error
	meets := func(err error) error {
		met = errors.Join(met, err)
		return err
	}
	var rule *sim.Rule
	if at == working {
		rule = sim.Inject(rt, f)
	}
	sys, err := actor.NewSystem(actor.WithOpenRuntime(rt), actor.WithDevices(2), actor.WithLogger(slog.New(slog.DiscardHandler)))
	if meets(err) == nil {
		meets(sys.Load(module))
		var bytes wrong
		if err := meets(pipeline(ctx, sys)); errors.As(err, &bytes) {
			bad("%v, and nobody said so", err)
		}
		if at == working {
			rule.Lift()
			if err := pipeline(ctx, sys); err != nil && !(rule.Hits() > 0 && sticky && cudart.IsSticky(err)) {
				bad("the system does not work any more: %v", err)
			} else if err == nil && rule.Hits() > 0 && sticky {
				bad("the device is lost, and the next one does not say so")
			}
		}
		if n := sys.Counts(); n.Actors > 2 || n.Threads > 2 || n.Streams > 2 { // transfer's own
			bad("behind the pipelines: %+v", n)
		}
		if at == closing {
			rule = sim.Inject(rt, f)
		}
		if err := meets(sys.Close(ctx)); at == closing && rule.Hits() > 0 && sticky && !cudart.IsSticky(err) {
			bad("the device was lost, and Close says %v", err)
		}
		if n := sys.Counts(); n.Actors != 0 || n.Threads != 0 || n.Streams != 0 || n.Events != 0 {
			bad("left: %+v", n)
		}
		for _, d := range sys.Devices() {
			if d.HostBytes() != 0 || d.Memory().Reserved != 0 {
				bad("%v has %d bytes of pinned memory and %+v", d, d.HostBytes(), d.Memory())
			}
		}
	} else if at == closing {
		bad("%v", err)
		return false
	}
	if errors.Is(met, context.DeadlineExceeded) {
		bad("it hangs: %v", met)
	}
	if err := rt.left(); err != nil {
		bad("%v", err)
	}
	if n := buffer.Live(); n != lives {
		bad("%d buffers became %d", lives, n)
	}
	hits := rule.Hits()
	rule.Lift()
	meets(rt.Close())
	until := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > goroutines && time.Now().Before(until) {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		bad("%d goroutines became %d", goroutines, n)
	}
	if t.Failed() {
		t.Logf("what it met: %v", met)
	}
	return hits > 0
}
