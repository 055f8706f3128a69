//go:build linux && (amd64 || arm64)

package nvidia

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
)

// openDriver opens the machine's own driver. Only a machine without one, or
// without a device, skips the test.
func openDriver(t testing.TB) cudart.Runtime {
	t.Helper()
	rt, err := Open()
	if errors.Is(err, cudart.ErrNoDriver) || errors.Is(err, cudart.ErrNoDevices) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func TestConformance(t *testing.T) {
	openDriver(t)
	cudarttest.Run(t, func(t *testing.T) cudart.Runtime { return openDriver(t) })
}

func TestOpenIsOnceForTheProcess(t *testing.T) {
	first, err1 := Open()
	second, err2 := Open()
	if first != second || err1 != err2 {
		t.Errorf("Open gave %v, %v, then %v, %v", first, err1, second, err2)
	}
	if (first == nil) == (err1 == nil) {
		t.Errorf("Open gave %v and %v", first, err1)
	}
}

func TestDriverSeesTheConnections(t *testing.T) {
	openDriver(t)
	want, set := os.LookupEnv(connectionsEnv)
	if got := libcGetenv(t, connectionsEnv); !set || got != want {
		t.Errorf("getenv gives %q, Go has %q", got, want)
	}
}

const idlePTX = `.version 6.0
.target sm_50
.address_size 64
.visible .entry idle() { ret; }
.visible .entry touch(.param .u64 p, .param .u32 n) { ret; }
`

// BenchmarkDriver is what commands cost through Submit on the machine's driver,
// in lists of 16 but for the query.
func BenchmarkDriver(b *testing.B) {
	rt := openDriver(b)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx, err := rt.RetainPrimary(0)
	must(err)
	must(rt.SetCurrent(ctx))
	s, err := rt.CreateStream(ctx)
	must(err)
	e, err := rt.CreateEvent(ctx, false)
	must(err)
	m, err := rt.LoadModule(ctx, cudart.Image{Name: "idle", PTX: idlePTX})
	must(err)
	idle, _, err := rt.Function(ctx, m, "idle")
	must(err)
	touch, _, err := rt.Function(ctx, m, "touch")
	must(err)
	l, err := cudart.NewList(64 << 10)
	must(err)
	defer func() {
		must(rt.SynchronizeStream(ctx, s))
		l.Close()
		must(errors.Join(rt.UnloadModule(ctx, m), rt.DestroyEvent(ctx, e), rt.DestroyStream(ctx, s), rt.SetCurrent(0), rt.ReleasePrimary(0)))
	}()

	// A sub-benchmark has a goroutine of its own, and so a thread without a context.
	run := func(name string, body func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			must(rt.SetCurrent(ctx))
			defer func() { must(rt.SetCurrent(0)) }()
			b.ReportAllocs()
			body(b)
		})
	}
	const batch = 16
	one := cudart.Dim3{X: 1, Y: 1, Z: 1}
	for name, add := range map[string]func(){
		"record":      func() { l.Record(e) },
		"wait":        func() { l.Wait(e) },
		"record+wait": func() { l.Record(e); l.Wait(e) },
		"launch":      func() { l.Launch(idle, one, one, 0) },
		"launch/2":    func() { l.Launch(touch, one, one, 0, cudart.Arg{Slot: 1}, cudart.Arg{Slot: 2}) },
	} {
		run(name, func(b *testing.B) {
			for n := b.N; n > 0; n -= batch {
				l.Reset()
				for range min(n, batch) {
					add()
				}
				if _, err := rt.Submit(ctx, s, l); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			must(rt.SynchronizeStream(ctx, s))
		})
	}
	run("query", func(b *testing.B) {
		for b.Loop() {
			if _, err := rt.QueryEvent(e); err != nil {
				b.Fatal(err)
			}
		}
	})
}
