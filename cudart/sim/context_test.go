package sim

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// onThread runs f on a thread of its own, which ends with it.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
}

func TestContextIsCurrentOnAThread(t *testing.T) {
	if !threadsKnown {
		t.Skip("threads have no numbers here")
	}
	g := newRig(t, Config{})
	var err error
	onThread(func() { _, err = g.try(g.stream, func(l *cudart.List) { g.launch(l, "gate") }) })
	g.is(err, cudart.ErrInvalidContext)
	if !strings.Contains(err.Error(), "GPUACTOR_DEBUG=1") {
		t.Errorf("%q does not say how to find the cause", err)
	}
	onThread(func() {
		if err = g.r.SetCurrent(g.ctx); err == nil {
			_, err = g.r.CreateStream(g.ctx)
			_ = g.r.SetCurrent(0)
		}
	})
	g.is(err, 0)
	g.use(0)
	_, err = g.r.CreateStream(g.ctx)
	g.is(err, cudart.ErrInvalidContext)
	for i := range g.r.threads.parts {
		if n := len(g.r.threads.parts[i].current); n != 0 {
			t.Errorf("%d threads are remembered behind SetCurrent(0)", n)
		}
	}
}

func TestPrimaryIsSharedAndCounted(t *testing.T) {
	g := newRig(t, Config{})
	if again := must(g.r.RetainPrimary(0)); again != g.ctx {
		t.Fatal("two primary contexts of one device")
	}
	g.is(g.r.ReleasePrimary(0), 0)
	_, err := g.r.CreateStream(g.ctx)
	g.is(err, 0)
	g.is(g.r.DestroyContext(g.ctx), cudart.ErrInvalidContext)
	g.is(g.r.ReleasePrimary(0), 0)
	_, err = g.r.CreateStream(g.ctx)
	g.is(err, cudart.ErrContextDestroyed)
	g.is(g.r.ReleasePrimary(0), cudart.ErrInvalidContext)
	_, err = g.r.RetainPrimary(7)
	g.is(err, cudart.ErrInvalidDevice)
}

func TestDestroyContextTakesEverythingAlong(t *testing.T) {
	g := newRig(t, Config{})
	ctx := must(g.r.CreateContext(0))
	g.use(ctx)
	s, e := must(g.r.CreateStream(ctx)), must(g.r.CreateEvent(ctx, false))
	h := must(g.r.AllocHost(ctx, 8))
	p := must(g.r.Alloc(ctx, g.pool, 8, s))
	_, err := g.try(g.stream, func(l *cudart.List) { l.Wait(e) })
	g.is(err, cudart.ErrInvalidContext)
	g.list.Reset()
	g.list.Fill(p, 0, 1, 8)
	_, err = g.r.Submit(ctx, s, g.list)
	g.is(err, 0)
	g.is(g.r.DestroyContext(ctx), 0)
	if now := must(g.r.Current()); now != 0 {
		t.Errorf("%#x is still current", now)
	}
	g.use(g.ctx)
	g.is(g.r.DestroyStream(g.ctx, s), cudart.ErrInvalidHandle)
	_, err = g.r.QueryEvent(e)
	g.is(err, cudart.ErrInvalidHandle)
	g.is(g.r.FreeHost(g.ctx, h), cudart.ErrInvalidValue)
	g.submit(g.stream, func(l *cudart.List) { l.Free(p) }) // memory is the device's
	g.is(g.r.SynchronizeContext(g.ctx), 0)
	g.within("the context's stream is forgotten", func() { // by whoever ran it last
		for left := 2; left != 1; runtime.Gosched() {
			g.r.mu.Lock()
			left = len(g.r.streams)
			g.r.mu.Unlock()
		}
	})
}

func TestDestroyContextWaitsForItsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, Config{})
		g.submit(g.stream, func(l *cudart.List) { g.launch(l, "gate"); g.launch(l, "log", cudart.Arg{Slot: 1}) })
		synctest.Wait() // until the kernel is at its gate
		destroyed := make(chan error, 1)
		go func() { destroyed <- g.r.ReleasePrimary(0) }()
		synctest.Wait()
		select {
		case <-destroyed:
			t.Fatal("destroyed with a kernel running")
		default:
		}
		close(g.gate)
		g.is(<-destroyed, 0)
		g.logged(1)
	})
}

func TestThingsOfAnotherContextAreRefused(t *testing.T) {
	g := newRig(t, Config{})
	ctx := must(g.r.CreateContext(0))
	g.use(ctx)
	s, e := must(g.r.CreateStream(ctx)), must(g.r.CreateEvent(ctx, false))
	g.use(g.ctx)
	foreign := must(g.r.CreateEvent(g.ctx, false))
	g.use(ctx)
	for _, fill := range []func(l *cudart.List){
		func(l *cudart.List) { g.launch(l, "log", cudart.Arg{}) },
		func(l *cudart.List) { l.Record(foreign) },
	} {
		g.list.Reset()
		fill(g.list)
		_, err := g.r.Submit(ctx, s, g.list)
		g.is(err, cudart.ErrInvalidHandle)
	}
	_, err := g.r.Submit(ctx, g.stream, g.list)
	g.is(err, cudart.ErrInvalidHandle)
	g.list.Reset()
	g.list.Record(e)
	_, err = g.r.Submit(ctx, s, g.list)
	g.is(err, 0)
	g.use(g.ctx)
	g.submit(g.stream, func(l *cudart.List) { l.Wait(e) })
	g.is(g.r.EnablePeer(g.ctx, ctx), cudart.ErrPeerUnsupported)
}

func TestHandlesAreNotReused(t *testing.T) {
	g := newRig(t, Config{})
	seen := map[cudart.Event]bool{}
	for range 1000 {
		e := must(g.r.CreateEvent(g.ctx, false))
		if seen[e] {
			t.Fatal("a handle came back")
		}
		seen[e] = true
		g.is(g.r.DestroyEvent(g.ctx, e), 0)
		g.is(g.r.DestroyEvent(g.ctx, e), cudart.ErrInvalidHandle)
	}
	if g.r.eventTable.used != 1 {
		t.Errorf("%d places for one event at a time", g.r.eventTable.used)
	}
	if _, err := g.r.QueryEvent(cudart.Event(g.stream)); err == nil {
		t.Error("a stream was taken for an event")
	}
	g.is(g.r.FreeHost(g.ctx, unsafe.Pointer(g)), cudart.ErrInvalidValue)
}

func TestKernelsNeedBothForms(t *testing.T) {
	g := newRig(t, Config{})
	m := must(g.r.LoadModule(g.ctx, cudart.Image{Name: "m", PTX: testPTX, Go: map[string]cudart.GoKernel{"extra": func(*cudart.KernelCall) {}}}))
	_, _, err := g.r.Function(g.ctx, m, "bare")
	g.is(err, cudart.ErrNotSupported)
	_, _, err = g.r.Function(g.ctx, m, "extra")
	g.is(err, cudart.ErrNotFound)
	_, err = g.r.LoadModule(g.ctx, cudart.Image{PTX: "rubbish"})
	g.is(err, cudart.ErrInvalidPTX)
	_, err = g.r.LoadModule(g.ctx, cudart.Image{})
	g.is(err, cudart.ErrInvalidImage)
}

func TestCheckLaunch(t *testing.T) {
	d := newDevice(0, Config{}).info
	f := cudart.FunctionInfo{MaxThreads: 512}
	dim := func(x, y, z uint32) cudart.Dim3 { return cudart.Dim3{X: x, Y: y, Z: z} }
	for _, c := range []struct {
		grid, block cudart.Dim3
		shared      uint32
		want        cudart.Code
	}{
		{dim(1, 1, 1), dim(512, 1, 1), 48 << 10, 0},
		{dim(1<<31-1, 65535, 65535), dim(1, 1, 64), 0, 0},
		{dim(0, 1, 1), dim(1, 1, 1), 0, cudart.ErrInvalidValue},
		{dim(1, 1, 1), dim(1, 0, 1), 0, cudart.ErrInvalidValue},
		{dim(1, 65536, 1), dim(1, 1, 1), 0, cudart.ErrInvalidValue},
		{dim(1, 1, 1), dim(1, 1, 65), 0, cudart.ErrInvalidValue},
		{dim(1, 1, 1), dim(1024, 2, 1), 0, cudart.ErrInvalidValue},
		{dim(1, 1, 1), dim(1024, 1024, 64), 0, cudart.ErrInvalidValue},
		{dim(1, 1, 1), dim(513, 1, 1), 0, cudart.ErrLaunchResources},
		{dim(1, 1, 1), dim(1, 1, 1), 48<<10 + 1, cudart.ErrInvalidValue},
	} {
		if got, why := checkLaunch(&d, f, c.grid, c.block, c.shared); got != c.want || (got != 0) != (why != "") {
			t.Errorf("%+v: %v %q", c, got, why)
		}
	}
}
