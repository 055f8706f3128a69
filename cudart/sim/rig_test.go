package sim

import (
	"errors"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

const testPTX = `.version 6.0
.target sm_50
.address_size 64
.visible .entry log(.param .u64 id) { ret; }
.visible .entry touch(.param .u64 p) { ret; }
.visible .entry die(.param .u64 how) { ret; }
.visible .entry gate() { ret; }
.visible .entry bare() { ret; }
`

// rig is a machine with one stream on device 0, on a locked thread.
type rig struct {
	testing.TB
	r      *simulator
	hand   *byHand // nil: goroutines run the streams
	ctx    cudart.Context
	pool   cudart.Pool
	stream cudart.Stream
	list   *cudart.List
	kernel map[string]cudart.Function

	log  []uint64      // what "log" launches said
	gate chan struct{} // "gate" runs until it is closed
}

// byHand runs streams when the test says so, on the test's goroutine.
type byHand struct {
	realTime
	waiting []*stream
}

func (x *byHand) attach(*stream)  {}
func (x *byHand) ready(s *stream) { x.waiting = append(x.waiting, s) }
func (x *byHand) close()          { x.all() }

// all runs until nothing can run.
func (x *byHand) all() {
	for len(x.waiting) > 0 {
		s := x.waiting[0]
		x.waiting = x.waiting[1:]
		for s.step() {
		}
	}
}

// only runs one stream as far as it goes, if it is ready.
func (x *byHand) only(s *stream) {
	for i, w := range x.waiting {
		if w == s {
			x.waiting = append(x.waiting[:i:i], x.waiting[i+1:]...)
			for s.step() {
			}
			return
		}
	}
}

func newRig(t testing.TB, c Config) *rig { return start(t, c, nil) }

func newHandRig(t testing.TB, c Config) *rig { return start(t, c, &byHand{}) }

func start(t testing.TB, c Config, hand *byHand) *rig {
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	g := &rig{TB: t, r: New(c).(*simulator), hand: hand, gate: make(chan struct{}), kernel: map[string]cudart.Function{}}
	if hand != nil {
		g.r.exec = hand
	}
	g.ctx = must(g.r.RetainPrimary(0))
	g.use(g.ctx)
	g.pool = must(g.r.CreatePool(g.ctx))
	g.stream = g.newStream()
	g.list = must(cudart.NewList(1 << 16))
	g.load(g.ctx)
	t.Cleanup(func() {
		g.list.Close()
		g.is(g.r.SetCurrent(0), 0)
		g.is(g.r.Close(), 0)
	})
	return g
}

func (g *rig) load(ctx cudart.Context) {
	m := must(g.r.LoadModule(ctx, cudart.Image{Name: "test", PTX: testPTX, Go: map[string]cudart.GoKernel{
		"log":   func(k *cudart.KernelCall) { g.log = append(g.log, k.Uint64(0)) },
		"touch": func(k *cudart.KernelCall) { k.Bytes(0)[0]++ },
		"gate":  func(*cudart.KernelCall) { <-g.gate },
		"die": func(k *cudart.KernelCall) {
			if k.Uint64(0) == 0 {
				runtime.Goexit()
			}
			panic("as told")
		},
	}}))
	for _, name := range []string{"log", "touch", "die", "gate"} {
		f, _, err := g.r.Function(ctx, m, name)
		g.is(err, 0)
		g.kernel[name] = f
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// is checks an error's code; zero is none.
func (g *rig) is(err error, code cudart.Code) {
	g.Helper()
	if code == 0 && err != nil || code != 0 && !errors.Is(err, code) {
		g.Fatalf("error %v, want %v", err, code)
	}
}

func (g *rig) use(ctx cudart.Context) { g.is(g.r.SetCurrent(ctx), 0) }

func (g *rig) newStream() cudart.Stream { return must(g.r.CreateStream(g.ctx)) }

func (g *rig) of(s cudart.Stream) *stream { return g.r.streamTable.get(uintptr(s)) }

func (g *rig) alloc(bytes uint64) cudart.DevicePtr {
	return must(g.r.Alloc(g.ctx, g.pool, bytes, g.stream))
}

func (g *rig) host(bytes uint64) []byte {
	return unsafe.Slice((*byte)(must(g.r.AllocHost(g.ctx, bytes))), bytes)
}

// try submits what fill puts in the list.
func (g *rig) try(s cudart.Stream, fill func(l *cudart.List)) (int, error) {
	g.list.Reset()
	fill(g.list)
	return g.r.Submit(g.ctx, s, g.list)
}

func (g *rig) submit(s cudart.Stream, fill func(l *cudart.List)) {
	g.Helper()
	if i, err := g.try(s, fill); i != -1 || err != nil {
		g.Fatalf("command %d refused: %v", i, err)
	}
}

var one = cudart.Dim3{X: 1, Y: 1, Z: 1}

func (g *rig) launch(l *cudart.List, kernel string, args ...cudart.Arg) {
	l.Launch(g.kernel[kernel], one, one, 0, args...)
}

func (g *rig) say(s cudart.Stream, id uint64) {
	g.Helper()
	g.submit(s, func(l *cudart.List) { g.launch(l, "log", cudart.Arg{Slot: id}) })
}

func (g *rig) touch(l *cudart.List, p cudart.DevicePtr) {
	g.launch(l, "touch", cudart.Arg{Slot: uint64(p), Bytes: 1, Access: cudart.InOut})
}

func (g *rig) logged(want ...uint64) {
	g.Helper()
	if len(g.log) != len(want) {
		g.Fatalf("ran %v, want %v", g.log, want)
	}
	for i := range want {
		if g.log[i] != want[i] {
			g.Fatalf("ran %v, want %v", g.log, want)
		}
	}
}

// within fails the test if f does not return.
func (g *rig) within(what string, f func()) {
	g.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		g.Fatalf("%s hangs", what)
	}
}
