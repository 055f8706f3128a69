//go:build linux && (amd64 || arm64)

package nvidia

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

func TestDevices(t *testing.T) {
	f := openFake(t)
	infos, err := f.Devices()
	if err != nil || len(infos) != 2 {
		t.Fatalf("Devices: %v, %v", infos, err)
	}
	want := cudart.DeviceInfo{Ordinal: 1, Name: "Fake 1", Memory: 5<<32 + 1, Major: 1075, Minor: 1076, Multiprocessors: 1016, CopyEngines: 1040,
		MaxGrid: cudart.Dim3{X: 1005, Y: 1006, Z: 1007}, MaxBlock: cudart.Dim3{X: 1002, Y: 1003, Z: 1004}, MaxThreads: 1001, MaxShared: 1008}
	for i := range want.UUID {
		want.UUID[i] = 0xa1
	}
	if infos[1] != want {
		t.Errorf("device 1 is %+v\nwant %+v", infos[1], want)
	}
	for _, c := range []struct {
		from, to int
		can      bool
	}{{0, 1, true}, {1, 0, false}, {0, 0, false}} {
		if can, err := f.CanAccessPeer(c.from, c.to); can != c.can || err != nil {
			t.Errorf("CanAccessPeer(%d, %d) is %v, %v", c.from, c.to, can, err)
		}
	}
	if _, err := f.CanAccessPeer(0, 2); !errors.Is(err, cudart.ErrInvalidDevice) {
		t.Errorf("CanAccessPeer with a device out of range: %v", err)
	}
}

func TestContexts(t *testing.T) {
	f := openFake(t)
	ctx := f.context(t)
	made, err := f.CreateContext(0)
	if err != nil || made == 0 || made == ctx {
		t.Fatalf("CreateContext: %x, %v", made, err)
	}
	if current, err := f.Current(); current != ctx || err != nil {
		t.Errorf("current is %x, %v, want %x: a created context must not stay", current, err, ctx)
	}
	f.refuse("cuCtxPopCurrent", 1, 719)
	if c, err := f.CreateContext(0); c != 0 || !errors.Is(err, cudart.ErrLaunchFailed) {
		t.Errorf("a context that cannot be taken off: %x, %v", c, err)
	}
	if got := f.calls(); !strings.HasPrefix(got[len(got)-1], "CtxDestroy") {
		t.Errorf("a context that cannot be taken off was not destroyed: %v", got)
	}
	var ignored cudart.Context
	f.call(cuCtxPopCurrent, uintptr(unsafe.Pointer(&ignored)))
	f.reset()
	primary, err := f.RetainPrimary(1)
	if primary != 0xc001 || err != nil {
		t.Errorf("RetainPrimary: %x, %v", primary, err)
	}
	for _, err := range []error{f.ReleasePrimary(1), f.DestroyContext(made), f.SynchronizeContext(ctx), f.EnablePeer(ctx, primary)} {
		if err != nil {
			t.Error(err)
		}
	}
	want := []string{"DevicePrimaryCtxRetain 1", "DevicePrimaryCtxRelease 1", fmt.Sprintf("CtxDestroy %x", made), "CtxSynchronize 0", "CtxEnablePeerAccess c001 0"}
	if got := f.calls(); !slices.Equal(got, want) {
		t.Errorf("called %q, want %q", got, want)
	}
	f.refuse("cuCtxEnablePeerAccess", 1, 704)
	f.refuse("cuCtxEnablePeerAccess", 2, 217)
	if err := f.EnablePeer(ctx, primary); err != nil {
		t.Errorf("enabling twice: %v", err)
	}
	if err := f.EnablePeer(ctx, primary); !errors.Is(err, cudart.ErrPeerUnsupported) {
		t.Errorf("an unsupported peer: %v", err)
	}
}

// Every method that takes a context refuses one that is not current, without a
// call.
func TestTheContextMustBeCurrent(t *testing.T) {
	f := openFake(t)
	ctx := f.context(t)
	for name, call := range map[string]func(c cudart.Context) error{
		"SynchronizeContext": func(c cudart.Context) error { return f.SynchronizeContext(c) },
		"EnablePeer":         func(c cudart.Context) error { return f.EnablePeer(c, ctx) },
		"CreateStream":       func(c cudart.Context) error { _, err := f.CreateStream(c); return err },
		"DestroyStream":      func(c cudart.Context) error { return f.DestroyStream(c, 1) },
		"SynchronizeStream":  func(c cudart.Context) error { return f.SynchronizeStream(c, 1) },
		"CreateEvent":        func(c cudart.Context) error { _, err := f.CreateEvent(c, true); return err },
		"DestroyEvent":       func(c cudart.Context) error { return f.DestroyEvent(c, 1) },
		"CreatePool":         func(c cudart.Context) error { _, err := f.CreatePool(c); return err },
		"DestroyPool":        func(c cudart.Context) error { return f.DestroyPool(c, 1) },
		"AllowPeer":          func(c cudart.Context) error { return f.AllowPeer(c, 1, 0) },
		"TrimPool":           func(c cudart.Context) error { return f.TrimPool(c, 1, 0) },
		"Alloc":              func(c cudart.Context) error { _, err := f.Alloc(c, 1, 1, 1); return err },
		"MemInfo":            func(c cudart.Context) error { _, _, err := f.MemInfo(c); return err },
		"AllocHost":          func(c cudart.Context) error { _, err := f.AllocHost(c, 1); return err },
		"FreeHost":           func(c cudart.Context) error { return f.FreeHost(c, nil) },
		"LoadModule":         func(c cudart.Context) error { _, err := f.LoadModule(c, cudart.Image{PTX: ptx}); return err },
		"UnloadModule":       func(c cudart.Context) error { return f.UnloadModule(c, 1) },
		"Function":           func(c cudart.Context) error { _, _, err := f.Function(c, 1, "k"); return err },
		"InstantiateLaunch":  func(c cudart.Context) error { _, err := f.InstantiateLaunch(c, 1, 0); return err },
		"DestroyLaunch":      func(c cudart.Context) error { return f.DestroyLaunch(c, cudart.LaunchGraph{Exec: 1}) },
	} {
		for _, c := range []struct{ current, given cudart.Context }{{ctx, ctx + 1}, {ctx, 0}, {0, ctx}, {0, 0}} {
			if err := f.SetCurrent(c.current); err != nil {
				t.Fatal(err)
			}
			f.reset()
			if err := call(c.given); !errors.Is(err, cudart.ErrInvalidContext) {
				t.Errorf("%s with context %x where %x is current: %v", name, c.given, c.current, err)
			}
			if f.count() != 0 {
				t.Errorf("%s with context %x where %x is current: called %v", name, c.given, c.current, f.calls())
			}
		}
	}
}

func TestStreamsAndEvents(t *testing.T) {
	f := openFake(t)
	ctx := f.context(t)
	s, err := f.CreateStream(ctx)
	if s == 0 || err != nil {
		t.Fatal(s, err)
	}
	plain, err1 := f.CreateEvent(ctx, false)
	timed, err2 := f.CreateEvent(ctx, true)
	if err := errors.Join(err1, err2, f.SynchronizeStream(ctx, s), f.DestroyEvent(ctx, plain), f.DestroyStream(ctx, s)); err != nil || plain == timed {
		t.Fatal(plain, timed, err)
	}
	want := []string{"StreamCreate 1", "EventCreate 2", "EventCreate 0", fmt.Sprintf("StreamSynchronize %x", s), fmt.Sprintf("EventDestroy %x", plain), fmt.Sprintf("StreamDestroy %x", s)}
	if got := f.calls(); !slices.Equal(got, want) {
		t.Errorf("called %q, want %q", got, want)
	}
	for _, err := range []error{f.SynchronizeStream(ctx, 0), f.DestroyStream(ctx, 0)} {
		if !errors.Is(err, cudart.ErrInvalidHandle) {
			t.Errorf("stream 0: %v", err)
		}
	}
	if d, err := f.Elapsed(plain, timed); d != 1500*time.Microsecond || err != nil {
		t.Errorf("Elapsed: %v, %v", d, err)
	}
	f.refuse("cuEventElapsedTime", 1, 600)
	if _, err := f.Elapsed(plain, timed); !errors.Is(err, cudart.ErrNotReady) {
		t.Errorf("Elapsed: %v, want ErrNotReady", err)
	}
	f.refuse("cuEventQuery", 2, 600)
	f.refuse("cuEventQuery", 3, 700)
	for i, want := range []struct {
		done bool
		err  error
	}{{true, nil}, {false, nil}, {false, cudart.ErrIllegalAddress}} {
		if done, err := f.QueryEvent(timed); done != want.done || !errors.Is(err, want.err) {
			t.Errorf("query %d: %v, %v, want %v", i, done, err, want)
		}
	}
}

func TestPools(t *testing.T) {
	f := openFake(t)
	ctx := f.context(t)
	p, err := f.CreatePool(ctx)
	if p == 0 || err != nil {
		t.Fatal(p, err)
	}
	ptr, err := f.Alloc(ctx, p, 6<<30, stream)
	if ptr != 0xd0000000 || err != nil {
		t.Errorf("Alloc: %x, %v", ptr, err)
	}
	if _, err := f.Alloc(ctx, p, 1, 0); !errors.Is(err, cudart.ErrInvalidHandle) {
		t.Errorf("Alloc on stream 0: %v", err)
	}
	if err := errors.Join(f.AllowPeer(ctx, p, 0), f.TrimPool(ctx, p, 1<<33), f.DestroyPool(ctx, p)); err != nil {
		t.Error(err)
	}
	want := []string{
		"CtxGetDevice 0",
		"MemPoolCreate 1 0 1 1 0 0 0", // pinned, no handles, device 1
		fmt.Sprintf("MemPoolSetAttribute %x 4 ffffffffffffffff", p),
		fmt.Sprintf("MemPoolSetAttribute %x 3 0", p),
		fmt.Sprintf("MemAllocFromPoolAsync 180000000 %x 57", p),
		fmt.Sprintf("MemPoolSetAccess %x 1 0 3 1", p),
		fmt.Sprintf("MemPoolTrimTo %x 200000000", p),
		fmt.Sprintf("MemPoolDestroy %x", p),
	}
	if got := f.calls(); !slices.Equal(got, want) {
		t.Errorf("called\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if err := f.AllowPeer(ctx, p, 2); !errors.Is(err, cudart.ErrInvalidDevice) {
		t.Errorf("AllowPeer with a device out of range: %v", err)
	}
}

func TestAPoolThatCannotBeSetUpIsDestroyed(t *testing.T) {
	f := openFake(t)
	ctx := f.context(t)
	for nth := range uint64(2) {
		f.reset()
		f.refuse("cuMemPoolSetAttribute", nth+1, 801)
		if p, err := f.CreatePool(ctx); p != 0 || !errors.Is(err, cudart.ErrNotSupported) {
			t.Errorf("CreatePool: %x, %v", p, err)
		}
		if got := f.calls(); !strings.HasPrefix(got[len(got)-1], "MemPoolDestroy") {
			t.Errorf("called %v", got)
		}
	}
}

func TestHostMemory(t *testing.T) {
	f := openFake(t)
	ctx := f.context(t)
	p, err := f.AllocHost(ctx, 4096)
	if p == nil || err != nil {
		t.Fatal(p, err)
	}
	*(*byte)(p) = 1
	if err := f.FreeHost(ctx, p); err != nil {
		t.Error(err)
	}
	free, total, err := f.MemInfo(ctx)
	if free != 7<<32 || total != 8<<32 || err != nil {
		t.Errorf("MemInfo: %d, %d, %v", free, total, err)
	}
	if got := f.calls()[0]; got != "MemHostAlloc 1000 1" {
		t.Errorf("called %q: host memory must be portable", got)
	}
	f.refuse("cuMemHostAlloc", 1, 2)
	_, err = f.AllocHost(ctx, 4096)
	var e *cudart.Error
	if !errors.As(err, &e) || *e != (cudart.Error{Code: 2, Name: "CUDA_ERROR_OUT_OF_MEMORY", Call: "cuMemHostAlloc", Text: "out of memory"}) {
		t.Errorf("AllocHost: %#v", err)
	}
	f.refuse("cuMemHostAlloc", 1, 4242)
	if _, err = f.AllocHost(ctx, 4096); !errors.As(err, &e) || e.Code != 4242 || e.Name != "" || e.Text != "" {
		t.Errorf("a code that the driver has no name for: %#v", err)
	}
}

const ptx = `.version 6.0
.target sm_50
.address_size 64
.visible .entry one_1(.param .u64 p) { ret; }
.visible .entry two_2(.param .u64 p, .param .u32 n) { ret; }
`

func TestModulesLoadTheirKernels(t *testing.T) {
	for _, c := range []struct{ define, loads string }{
		{"-DDRIVER=13000", "FuncLoad %x"},
		{"-DDRIVER=12030", "FuncGetAttribute 0 %x"},
	} {
		f := openFake(t, c.define)
		ctx := f.context(t)
		m, err := f.LoadModule(ctx, cudart.Image{Name: "m", PTX: ptx})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{fmt.Sprintf("ModuleLoadDataEx %x", len(ptx)),
			fmt.Sprintf("ModuleGetFunction %x 6f", m), fmt.Sprintf(c.loads, m+16+1),
			fmt.Sprintf("ModuleGetFunction %x 74", m), fmt.Sprintf(c.loads, m+32+2)}
		if got := f.calls(); !slices.Equal(got, want) {
			t.Errorf("%s: called\n%s\nwant\n%s", c.define, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		fn, info, err := f.Function(ctx, m, "two_2")
		if fn == 0 || info.MaxThreads != 768 || err != nil {
			t.Errorf("Function: %x, %+v, %v", fn, info, err)
		}
		if err := f.UnloadModule(ctx, m); err != nil {
			t.Error(err)
		}
	}
}

func TestModulesThatDoNotLoad(t *testing.T) {
	f := openFake(t)
	ctx := f.context(t)
	for _, c := range []struct {
		name, ptx, refuse string
		is                error
		says              string
		unloads           bool
	}{
		{name: "no text", is: cudart.ErrInvalidImage, says: `module "m" has no PTX`},
		{name: "does not compile", ptx: "//x\n" + ptx, is: cudart.ErrInvalidPTX, says: `module "m": ptxas application ptx input, line 3; fatal : no: a fake`},
		{name: "cannot be read by us", ptx: "garbage", is: cudart.ErrInvalidPTX, says: ".version", unloads: true},
		{name: "a kernel missing", ptx: ptx + ".entry missing() { ret; }", is: cudart.ErrNotFound, says: `kernel "missing"`, unloads: true},
		{name: "a kernel that does not load", ptx: ptx, refuse: "cuFuncLoad", is: cudart.ErrOutOfMemory, says: `kernel "one_1" of module "m"`, unloads: true},
	} {
		f.reset()
		if c.refuse != "" {
			f.refuse(c.refuse, 1, 2)
		}
		m, err := f.LoadModule(ctx, cudart.Image{Name: "m", PTX: c.ptx})
		if m != 0 || !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %x, %v", c.name, m, err)
		}
		got := f.calls()
		if unloaded := len(got) > 0 && strings.HasPrefix(got[len(got)-1], "ModuleUnload"); unloaded != c.unloads {
			t.Errorf("%s: called %v", c.name, got)
		}
	}
	for _, name := range []string{"missing", "", "two_2\x00x"} {
		fn, _, err := f.Function(ctx, 1, name)
		if fn != 0 || !errors.Is(err, cudart.ErrNotFound) || !strings.Contains(err.Error(), fmt.Sprintf("kernel %q", name)) {
			t.Errorf("Function %q: %x, %v", name, fn, err)
		}
	}
}
