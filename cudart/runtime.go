// Package cudart is the CUDA runtime as one small Go interface.
//
// Everything above this package speaks to a GPU through [Runtime] and cannot
// tell which one it has: package nvidia opens the NVIDIA driver library, and
// package sim is a CUDA device made of Go. Both pass the one suite in package
// cudarttest; where they differ, the simulator is wrong.
//
// A program chooses by importing, as with database/sql:
//
//	import (
//		"github.com/gpuactor/gpuactor/cudart"
//		_ "github.com/gpuactor/gpuactor/cudart/nvidia"
//		_ "github.com/gpuactor/gpuactor/cudart/sim"
//	)
//
//	rt, err := cudart.Open(cudart.Options{}) // the driver, else the simulator
//
// A stream's work is data: a [List] of small commands, submitted in order by
// one call of [Runtime.Submit]. That is the hot path; everything else here is
// set-up, and may be slow.
package cudart

import (
	"time"
	"unsafe"
)

// Handles are what the runtime gave out. Zero is no handle. They are valid in
// the runtime that made them, until they are destroyed, and carry no reference:
// a destroyed handle is refused, or, on the driver, undefined.
type (
	// Context is a CUDA context: what one process has on one device.
	Context uintptr
	// Stream is a queue of commands that run in order.
	Stream uintptr
	// Event stands for what a stream had been given when it was last recorded.
	Event uintptr
	// Pool is a stream-ordered memory pool of one device.
	Pool uintptr
	// Module is a loaded [Image], in one context.
	Module uintptr
	// Function is a kernel of a [Module].
	Function uintptr
)

// LaunchGraph is an executable graph of one kernel: a second way to launch that
// kernel, which takes the driver less time (1.8 µs for 3.5 µs on an H200 with driver
// 580). It belongs to one stream at a time. The zero LaunchGraph is none.
type LaunchGraph struct {
	Exec  uintptr // the executable graph
	Node  uintptr // the kernel in it
	Graph uintptr // what it was made from
}

// DevicePtr is an address in the unified address space: it names one byte of
// one device of the runtime. It is not an address of this process, and is never
// dereferenced in Go.
type DevicePtr uint64

// Dim3 is an extent in x, y and z: of a grid in blocks, of a block in threads.
type Dim3 struct{ X, Y, Z uint32 } // none of them 0, where it is launched

// DeviceInfo is what does not change about a device.
type DeviceInfo struct {
	Ordinal         int      // its number in the runtime, from 0
	Name            string   // the product's, "NVIDIA H200"
	UUID            [16]byte // tells it from all others, also in other processes
	Memory          uint64   // bytes in total
	Major, Minor    int      // compute capability
	Multiprocessors int      // how many it has
	CopyEngines     int      // copies that can run beside each other and beside kernels
	MaxGrid         Dim3     // blocks
	MaxBlock        Dim3     // threads in each dimension
	MaxThreads      int      // threads of one block
	MaxShared       uint32   // bytes of shared memory of one block, without opting in to more
}

// FunctionInfo is what a loaded kernel states about itself.
type FunctionInfo struct {
	MaxThreads int // threads of one block, as registers allow
}

// Image is a module in both of its forms. PTX is the text that the driver
// compiles; Go holds, under the same names, the functions that the simulator
// runs in its place. A kernel without a Go function cannot run there.
type Image struct {
	Name string              // for messages
	PTX  string              // one module's text, with its .version and .target
	Go   map[string]GoKernel // by the kernel's name in the PTX

	// Cost is what kernels take, for a simulator in virtual time. A kernel without is
	// taken to be bound by the memory behind its arguments. It is called before the
	// kernel runs, and may read its arguments and their sizes, not what is behind them.
	Cost map[string]func(k *KernelCall) time.Duration
}

// Runtime is a CUDA runtime.
//
// Threads. A context is current on an OS thread, as in CUDA. Methods that take
// a Context as their first parameter need it to be current on the calling
// thread and fail with [ErrInvalidContext] otherwise, except SetCurrent,
// DestroyContext and those that say so; the caller keeps its goroutine on that
// thread with runtime.LockOSThread. All methods may be called from several
// threads at once; two submissions to one stream are put in some order.
//
// Errors. Every refusal is an [*Error] with the driver's number, its name, and
// the call. A fault of work that was already submitted (an illegal address, a
// trap) is sticky: it arrives at whatever call comes next, and every call after
// it fails alike.
type Runtime interface {
	// Name is the name it was registered under: "nvidia" or "sim".
	Name() string
	// DriverVersion is the CUDA version of the driver, 1000×major + 10×minor.
	DriverVersion() int
	// Devices lists the devices, by ordinal.
	Devices() ([]DeviceInfo, error)
	// Now is the runtime's clock, for how long things take on the host.
	Now() time.Duration

	// RetainPrimary returns the device's primary context, which other libraries
	// of the process share, and does not make it current. Each retain needs a
	// ReleasePrimary.
	RetainPrimary(device int) (Context, error)
	// ReleasePrimary undoes one RetainPrimary. With the last one the context goes,
	// and what was made in it.
	ReleasePrimary(device int) error
	// CreateContext makes a context of its own on a device. It does not stay
	// current on the calling thread.
	CreateContext(device int) (Context, error)
	// DestroyContext destroys one made by CreateContext, with everything in it.
	// It need not be current, and must not be current on another thread.
	DestroyContext(ctx Context) error
	// SetCurrent makes ctx, or none where it is zero, current on this thread.
	SetCurrent(ctx Context) error
	// Current is the context current on this thread, zero for none.
	Current() (Context, error)
	// SynchronizeContext waits for everything submitted in the context.
	SynchronizeContext(ctx Context) error

	// CanAccessPeer says whether kernels of device may address memory of peer,
	// as the driver claims. It is a directed relation, and false for a device
	// and itself.
	CanAccessPeer(device, peer int) (bool, error)
	// EnablePeer lets ctx reach memory of peer. Enabling twice is not an error.
	EnablePeer(ctx, peer Context) error

	// CreateStream makes a non-blocking stream: nothing in it is ordered with
	// the legacy default stream.
	CreateStream(ctx Context) (Stream, error)
	// DestroyStream returns at once; what was submitted still runs.
	DestroyStream(ctx Context, s Stream) error
	// SynchronizeStream blocks this thread until all that was submitted is done.
	SynchronizeStream(ctx Context, s Stream) error

	// CreateEvent makes an event of the context, with timing or (far cheaper
	// to record) without.
	CreateEvent(ctx Context, timing bool) (Event, error)
	// DestroyEvent destroys an event. Waits submitted earlier keep their order.
	DestroyEvent(ctx Context, e Event) error
	// QueryEvent reports whether the work captured by the latest record is
	// done; true for an event never recorded. Any context may be current.
	QueryEvent(e Event) (bool, error)
	// Elapsed is the time between two completed records of events with timing,
	// of one context. [ErrNotReady] until both are complete.
	Elapsed(start, end Event) (time.Duration, error)

	// CreatePool makes a stream-ordered memory pool on the device of ctx that
	// keeps what is freed instead of returning it to the system.
	CreatePool(ctx Context) (Pool, error)
	// DestroyPool destroys a pool; memory of it that is in use stays until it is freed.
	DestroyPool(ctx Context, p Pool) error
	// AllowPeer lets the device of peer read and write the pool's memory,
	// present and future. ctx is the context of the pool.
	AllowPeer(ctx Context, p Pool, peer int) error
	// TrimPool returns unused memory of the pool beyond keep bytes to the system.
	TrimPool(ctx Context, p Pool, keep uint64) error
	// Alloc allocates bytes (at least 1) in stream order: the memory may be used
	// by what s is given after the call, and elsewhere once that is ordered. The
	// pool may be another device's than the stream. It is freed by a Free
	// command, on any stream.
	Alloc(ctx Context, p Pool, bytes uint64, s Stream) (DevicePtr, error)
	// MemInfo reports free and total memory of the device of ctx, in bytes.
	MemInfo(ctx Context) (free, total uint64, err error)
	// AllocHost allocates pinned host memory, usable from every context. It may
	// synchronise the device, and is not for the hot path.
	AllocHost(ctx Context, bytes uint64) (unsafe.Pointer, error)
	// FreeHost frees it; the caller has seen to it that no copy uses it any more.
	FreeHost(ctx Context, p unsafe.Pointer) error

	// LoadModule compiles and loads a module, and all its kernels.
	LoadModule(ctx Context, image Image) (Module, error)
	// UnloadModule unloads a module; its functions are no functions any more. Nothing
	// of it is running.
	UnloadModule(ctx Context, m Module) error
	// Function finds a kernel by name, [ErrNotFound] where there is none.
	Function(ctx Context, m Module, name string) (Function, FunctionInfo, error)

	// InstantiateLaunch makes an executable graph that launches f, which takes the
	// given number of arguments; see [List.LaunchBy]. The zero LaunchGraph, and no
	// error, where the runtime has none to offer.
	InstantiateLaunch(ctx Context, f Function, args int) (LaunchGraph, error)
	// DestroyLaunch destroys one. Nothing launched by it is unfinished.
	DestroyLaunch(ctx Context, g LaunchGraph) error

	// Submit gives a stream the commands of a list, in order. ctx is the context
	// of the stream.
	//
	// That ctx is current is the caller's duty here, and may go unnoticed: this is
	// the hot path.
	//
	// Where a command is refused, its index comes back with the error, and the
	// effects behind it (launch, copy, fill) are skipped while the bookkeeping
	// behind it (record, wait, free) still runs, so that nobody hangs and nothing
	// leaks. Without a refusal the index is -1. The list is free for reuse when
	// Submit returns.
	Submit(ctx Context, s Stream, l *List) (refused int, err error)

	// Close lets go of what the runtime holds in this process. The caller has
	// closed everything that it made.
	Close() error
}
