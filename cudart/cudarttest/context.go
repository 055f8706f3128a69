package cudarttest

import (
	"runtime"

	"github.com/gpuactor/gpuactor/cudart"
)

var contextChecks = []check{
	{"primary is one for all", contextPrimary},
	{"created is another each time", contextCreated},
	{"is current where it was made current", contextCurrent},
	{"is current on one thread only", contextThread},
	{"is not made current by its making", contextNotMadeCurrent},
	{"refuses calls where another is current", contextWrong},
	{"takes what it holds along", contextDestroy},
	{"synchronizes all its streams", contextSynchronize},
}

func contextPrimary(f *fixture) {
	ctx, err := f.rt.RetainPrimary(0)
	f.ok(err, "RetainPrimary")
	if ctx != f.main.ctx {
		f.Errorf("a second retain gave %#x, the first %#x", ctx, f.main.ctx)
	}
	f.ok(f.rt.ReleasePrimary(0), "ReleasePrimary")
	// The suite's own retain still holds it.
	q := f.queue(f.main)
	q.launch("idle", 1)
	q.submit()
	q.sync()
}

func contextCreated(f *fixture) {
	if f.main.ctx == 0 || f.twin.ctx == 0 || f.main.ctx == f.twin.ctx {
		f.Errorf("contexts %#x and %#x", f.main.ctx, f.twin.ctx)
	}
}

func contextCurrent(f *fixture) {
	f.is(f.main.ctx)
	f.use(f.twin)
	f.is(f.twin.ctx)
	f.detach()
	f.is(0)
}

// is states what is current.
func (f *fixture) is(want cudart.Context) {
	f.Helper()
	got, err := f.rt.Current()
	f.ok(err, "Current")
	if got != want {
		f.Errorf("current is %#x, want %#x", got, want)
	}
}

// tellsThreads skips the check on systems where a runtime in pure Go cannot know
// which thread calls it. There is no driver on those.
func (f *fixture) tellsThreads() {
	f.Helper()
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		f.Skip("threads have no numbers here")
	}
}

func contextThread(f *fixture) {
	f.tellsThreads()
	got := make(chan cudart.Context)
	go func() { // on another thread: this one is locked
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		_ = f.rt.SetCurrent(f.twin.ctx)
		ctx, _ := f.rt.Current()
		_ = f.rt.SetCurrent(0)
		got <- ctx
	}()
	if ctx := <-got; ctx != f.twin.ctx {
		f.Errorf("there %#x is current, want %#x", ctx, f.twin.ctx)
	}
	f.is(f.main.ctx)
}

func contextNotMadeCurrent(f *fixture) {
	f.detach()
	_, err := f.rt.RetainPrimary(0)
	f.ok(err, "RetainPrimary")
	f.is(0)
	f.ok(f.rt.ReleasePrimary(0), "ReleasePrimary")
	f.use(f.main)
	ctx, err := f.rt.CreateContext(0)
	f.ok(err, "CreateContext")
	f.is(f.main.ctx)
	f.ok(f.rt.DestroyContext(ctx), "DestroyContext")
	f.is(f.main.ctx)
}

// contextWrong: on the driver most of these calls would quietly work in
// whatever context is current, so the runtime has to look. Submit is the hot
// path, and need not: the driver refuses some commands then, and runs others.
func contextWrong(f *fixture) {
	f.tellsThreads()
	q, e, pool := f.queue(f.main), f.event(f.main), f.pool(f.main)
	p, host := q.alloc(4), f.words(1)
	ctx, rt := f.main.ctx, f.rt
	module, err := rt.LoadModule(ctx, Kernels)
	f.ok(err, "LoadModule")
	calls := map[string]func() error{
		"SynchronizeContext": func() error { return rt.SynchronizeContext(ctx) },
		"EnablePeer":         func() error { return rt.EnablePeer(ctx, f.twin.ctx) },
		"CreateStream":       func() error { _, err := rt.CreateStream(ctx); return err },
		"DestroyStream":      func() error { return rt.DestroyStream(ctx, q.stream) },
		"SynchronizeStream":  func() error { return rt.SynchronizeStream(ctx, q.stream) },
		"CreateEvent":        func() error { _, err := rt.CreateEvent(ctx, false); return err },
		"DestroyEvent":       func() error { return rt.DestroyEvent(ctx, e) },
		"CreatePool":         func() error { _, err := rt.CreatePool(ctx); return err },
		"DestroyPool":        func() error { return rt.DestroyPool(ctx, pool) },
		"AllowPeer":          func() error { return rt.AllowPeer(ctx, pool, 0) },
		"TrimPool":           func() error { return rt.TrimPool(ctx, pool, 0) },
		"Alloc":              func() error { _, err := rt.Alloc(ctx, pool, 4, q.stream); return err },
		"MemInfo":            func() error { _, _, err := rt.MemInfo(ctx); return err },
		"AllocHost":          func() error { _, err := rt.AllocHost(ctx, 4); return err },
		"FreeHost":           func() error { return rt.FreeHost(ctx, f.pinned[0]) },
		"LoadModule":         func() error { _, err := rt.LoadModule(ctx, Kernels); return err },
		"UnloadModule":       func() error { return rt.UnloadModule(ctx, module) },
		"Function":           func() error { _, _, err := rt.Function(ctx, module, "idle"); return err },
	}
	for name, call := range calls {
		f.use(f.twin)
		f.refused(call(), name+" with another context current", cudart.ErrInvalidContext)
		f.detach()
		f.refused(call(), name+" with no context current", cudart.ErrInvalidContext)
	}
	// All of it is still there.
	f.use(f.main)
	f.ok(rt.UnloadModule(ctx, module), "UnloadModule")
	q.fill32(p, 1, 1)
	q.toHost(host, p)
	q.record(e)
	q.submit()
	q.sync()
	f.all(host, 1)
}

func contextDestroy(f *fixture) {
	ctx, err := f.rt.CreateContext(0)
	f.ok(err, "CreateContext")
	f.ok(f.rt.SetCurrent(ctx), "SetCurrent")
	f.current = nil
	_, err = f.rt.CreateStream(ctx)
	f.ok(err, "CreateStream")
	_, err = f.rt.CreateEvent(ctx, false)
	f.ok(err, "CreateEvent")
	_, err = f.rt.LoadModule(ctx, Kernels)
	f.ok(err, "LoadModule")
	f.detach()
	f.ok(f.rt.DestroyContext(ctx), "DestroyContext of one that is not current")
	q := f.queue(f.main)
	q.launch("idle", 1)
	q.submit()
	q.sync()
}

func contextSynchronize(f *fixture) {
	q1, q2, g := f.queue(f.main), f.queue(f.main), f.gate()
	e1, e2 := f.event(f.main), f.event(f.main)
	g.hold(q1)
	q1.record(e1)
	q1.submit()
	q2.wait(e1)
	q2.launch("busy", 1, u64(1e6))
	q2.record(e2)
	q2.submit()
	f.pending(e2, "a stream behind the gate")
	g.open()
	f.ok(f.rt.SynchronizeContext(f.main.ctx), "SynchronizeContext")
	if !f.done(e1) || !f.done(e2) {
		f.Error("SynchronizeContext returned before its streams were done")
	}
}
