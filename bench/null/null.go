// Package null is a runtime that does nothing, at once: what a program costs on it
// is what the library costs, on any machine. It is for measurements. Memory has
// addresses and no bytes, kernels do not run, and every event is complete, so
// nothing can be checked on it but how often it was called.
package null

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// Runtime is the null runtime. Contexts are not kept for each thread: Current
// answers none, and nothing asks for one.
type Runtime struct {
	devices int
	start   time.Time
	next    atomic.Uint64 // handles and addresses

	mu      sync.Mutex
	pinned  map[unsafe.Pointer][]byte
	modules map[cudart.Module][]cudart.Entry
}

// New makes a null runtime with the given number of devices.
func New(devices int) *Runtime {
	return &Runtime{
		devices: devices, start: time.Now(),
		pinned: map[unsafe.Pointer][]byte{}, modules: map[cudart.Module][]cudart.Entry{},
	}
}

var _ cudart.Runtime = (*Runtime)(nil)

// memory is what a device claims to have.
const memory = 64 << 30

func (r *Runtime) handle() uintptr { return uintptr(r.next.Add(1)) }

func (r *Runtime) Name() string       { return "null" }
func (r *Runtime) DriverVersion() int { return 0 }
func (r *Runtime) Now() time.Duration { return time.Since(r.start) }
func (r *Runtime) Close() error       { return nil }

func (r *Runtime) Devices() ([]cudart.DeviceInfo, error) {
	infos := make([]cudart.DeviceInfo, r.devices)
	for i := range infos {
		infos[i] = cudart.DeviceInfo{
			Ordinal: i, Name: "null", UUID: [16]byte{byte(i)}, Memory: memory, Major: 9, Multiprocessors: 1, CopyEngines: 1,
			MaxGrid:  cudart.Dim3{X: 1<<31 - 1, Y: 65535, Z: 65535},
			MaxBlock: cudart.Dim3{X: 1024, Y: 1024, Z: 64}, MaxThreads: 1024, MaxShared: 48 << 10,
		}
	}
	return infos, nil
}

func (r *Runtime) RetainPrimary(int) (cudart.Context, error)       { return cudart.Context(r.handle()), nil }
func (r *Runtime) ReleasePrimary(int) error                        { return nil }
func (r *Runtime) CreateContext(int) (cudart.Context, error)       { return cudart.Context(r.handle()), nil }
func (r *Runtime) DestroyContext(cudart.Context) error             { return nil }
func (r *Runtime) SetCurrent(cudart.Context) error                 { return nil }
func (r *Runtime) Current() (cudart.Context, error)                { return 0, nil }
func (r *Runtime) SynchronizeContext(cudart.Context) error         { return nil }
func (r *Runtime) CanAccessPeer(device, peer int) (bool, error)    { return device != peer, nil }
func (r *Runtime) EnablePeer(cudart.Context, cudart.Context) error { return nil }

func (r *Runtime) CreateStream(cudart.Context) (cudart.Stream, error) {
	return cudart.Stream(r.handle()), nil
}
func (r *Runtime) DestroyStream(cudart.Context, cudart.Stream) error     { return nil }
func (r *Runtime) SynchronizeStream(cudart.Context, cudart.Stream) error { return nil }

func (r *Runtime) CreateEvent(cudart.Context, bool) (cudart.Event, error) {
	return cudart.Event(r.handle()), nil
}
func (r *Runtime) DestroyEvent(cudart.Context, cudart.Event) error { return nil }
func (r *Runtime) QueryEvent(cudart.Event) (bool, error)           { return true, nil }
func (r *Runtime) Elapsed(cudart.Event, cudart.Event) (time.Duration, error) {
	return 0, nil
}

func (r *Runtime) CreatePool(cudart.Context) (cudart.Pool, error) {
	return cudart.Pool(r.handle()), nil
}
func (r *Runtime) DestroyPool(cudart.Context, cudart.Pool) error      { return nil }
func (r *Runtime) AllowPeer(cudart.Context, cudart.Pool, int) error   { return nil }
func (r *Runtime) TrimPool(cudart.Context, cudart.Pool, uint64) error { return nil }

func (r *Runtime) Alloc(_ cudart.Context, _ cudart.Pool, bytes uint64, _ cudart.Stream) (cudart.DevicePtr, error) {
	const page = 4096
	return cudart.DevicePtr(r.next.Add((bytes+page-1)/page*page) + 1<<40), nil
}

func (r *Runtime) MemInfo(cudart.Context) (free, total uint64, err error) {
	return memory, memory, nil
}

func (r *Runtime) AllocHost(_ cudart.Context, bytes uint64) (unsafe.Pointer, error) {
	b := make([]byte, bytes)
	p := unsafe.Pointer(unsafe.SliceData(b))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pinned[p] = b
	return p, nil
}

func (r *Runtime) FreeHost(_ cudart.Context, p unsafe.Pointer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pinned, p)
	return nil
}

func (r *Runtime) LoadModule(_ cudart.Context, image cudart.Image) (cudart.Module, error) {
	entries, err := cudart.ParsePTX(image.PTX)
	if err != nil {
		return 0, err
	}
	m := cudart.Module(r.handle())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.modules[m] = entries
	return m, nil
}

func (r *Runtime) UnloadModule(_ cudart.Context, m cudart.Module) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.modules, m)
	return nil
}

func (r *Runtime) Function(_ cudart.Context, m cudart.Module, name string) (cudart.Function, cudart.FunctionInfo, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.modules[m] {
		if e.Name == name {
			return cudart.Function(r.handle()), cudart.FunctionInfo{MaxThreads: 1024}, nil
		}
	}
	return 0, cudart.FunctionInfo{}, &cudart.Error{Code: cudart.ErrNotFound, Call: "cuModuleGetFunction", Text: name}
}

func (r *Runtime) InstantiateLaunch(cudart.Context, cudart.Function, int) (cudart.LaunchGraph, error) {
	return cudart.LaunchGraph{}, nil
}
func (r *Runtime) DestroyLaunch(cudart.Context, cudart.LaunchGraph) error { return nil }

func (r *Runtime) Submit(cudart.Context, cudart.Stream, *cudart.List) (int, error) { return -1, nil }
