package device

import (
	"fmt"
	"math"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
)

// Elem is the kind of a buffer's elements, or of a scalar.
type Elem = reflect.Kind

// Param is one parameter of a kernel as a program declares it.
type Param struct {
	access cudart.Access
	elem   Elem
	bytes  int
}

// In declares memory that the kernel reads, of elements T.
func In[T any]() Param { return memoryParam[T](cudart.In) }

// Out declares memory that the kernel overwrites in full and does not read.
func Out[T any]() Param { return memoryParam[T](cudart.Out) }

// InOut declares memory that the kernel reads and writes, or writes in part.
func InOut[T any]() Param { return memoryParam[T](cudart.InOut) }

func memoryParam[T any](a cudart.Access) Param { return Param{a, reflect.TypeFor[T]().Kind(), 8} }

// Scalar declares a number passed by value.
func Scalar[T any]() Param {
	t := reflect.TypeFor[T]()
	return Param{cudart.Scalar, t.Kind(), int(t.Size())}
}

func (p Param) String() string {
	if p.access == cudart.Scalar {
		return p.elem.String()
	}
	return p.access.String() + " []" + p.elem.String()
}

// Module is a set of kernels, loaded on each device where one of them is first
// used, or ahead of that by [Device.Load]. Loading compiles the PTX and
// synchronises the device, so a program that cares loads before it works.
type Module struct {
	image   cudart.Image
	entries map[string]cudart.Entry
	err     error

	mu      sync.Mutex
	kernels []*Kernel
}

// NewModule makes a module of an image. Whether its PTX can be read is known at
// once, and said when a kernel of it is used.
func NewModule(image cudart.Image) *Module {
	m := &Module{image: image, entries: map[string]cudart.Entry{}}
	entries, err := cudart.ParsePTX(image.PTX)
	if err != nil {
		m.err = fmt.Errorf("device: module %s: %w", image.Name, err)
	}
	for _, e := range entries {
		m.entries[e.Name] = e
	}
	return m
}

// Kernel is a kernel of a module, with the parameters that the program declares.
type Kernel struct {
	module *Module
	id     int
	name   string
	params []Param
	err    error // what is wrong with the declaration
}

var kernelCount atomic.Int32

// Kernel declares a kernel of the module, once, usually in a package variable:
//
//	var fill = kernels.Kernel("fill", device.Out[float32](), device.Scalar[float32]())
//
// A name that the module lacks, or parameters that differ from the PTX, are an
// error of every launch.
func (m *Module) Kernel(name string, params ...Param) *Kernel {
	k := &Kernel{module: m, id: int(kernelCount.Add(1)), name: name, params: params}
	k.err = k.check()
	m.mu.Lock()
	m.kernels = append(m.kernels, k)
	m.mu.Unlock()
	return k
}

// Name is the kernel's name in its module.
func (k *Kernel) Name() string { return k.name }

// LaunchError is a launch that was not made, and why.
type LaunchError struct {
	Kernel string
	Param  int // its position, from 0; -1 where it is about the launch as a whole
	Text   string
}

func (e *LaunchError) Error() string {
	if e.Param < 0 {
		return fmt.Sprintf("device: kernel %s: %s", e.Kernel, e.Text)
	}
	return fmt.Sprintf("device: kernel %s: parameter %d: %s", e.Kernel, e.Param, e.Text)
}

// check compares the declaration with the PTX.
func (k *Kernel) check() error {
	if k.module.err != nil {
		return k.module.err
	}
	e, ok := k.module.entries[k.name]
	if !ok {
		return &LaunchError{k.name, -1, fmt.Sprintf("module %s has no kernel of that name", k.module.image.Name)}
	}
	if len(e.Params) != len(k.params) {
		return &LaunchError{k.name, -1, fmt.Sprintf("declared with %d parameters, the module's has %d", len(k.params), len(e.Params))}
	}
	for i, p := range k.params {
		if p.bytes != e.Params[i].Bytes {
			return &LaunchError{k.name, i, fmt.Sprintf("declared as %v of %d bytes, the module's %s has %d", p, p.bytes, e.Params[i].Name, e.Params[i].Bytes)}
		}
	}
	return nil
}

// Memory is what stands behind a memory argument: it answers for one life of it.
type Memory interface {
	Written
	// Use is asked when the command is issued, with who issues it and what the
	// command does: where the memory is, its elements, or why not.
	Use(owner, gen uint32, a cudart.Access) (p cudart.DevicePtr, bytes uint64, elem Elem, err error)
}

// Arg is one argument of a launch: a scalar, or memory and what is done to it.
type Arg struct {
	access cudart.Access
	elem   Elem
	gen    uint32
	slot   uint64
	mem    Memory
}

// MemoryArg is the argument for memory; packages that own memory make it.
func MemoryArg(m Memory, gen uint32, a cudart.Access) Arg {
	return Arg{access: a, gen: gen, mem: m}
}

// Scalars, by their size and kind.
func U8(v uint8) Arg    { return Arg{elem: reflect.Uint8, slot: uint64(v)} }
func I8(v int8) Arg     { return Arg{elem: reflect.Int8, slot: uint64(uint8(v))} }
func U16(v uint16) Arg  { return Arg{elem: reflect.Uint16, slot: uint64(v)} }
func I16(v int16) Arg   { return Arg{elem: reflect.Int16, slot: uint64(uint16(v))} }
func U32(v uint32) Arg  { return Arg{elem: reflect.Uint32, slot: uint64(v)} }
func I32(v int32) Arg   { return Arg{elem: reflect.Int32, slot: uint64(uint32(v))} }
func U64(v uint64) Arg  { return Arg{elem: reflect.Uint64, slot: v} }
func I64(v int64) Arg   { return Arg{elem: reflect.Int64, slot: uint64(v)} }
func F32(v float32) Arg { return Arg{elem: reflect.Float32, slot: uint64(math.Float32bits(v))} }
func F64(v float64) Arg { return Arg{elem: reflect.Float64, slot: math.Float64bits(v)} }

// Grid is how many threads a launch has: blocks, threads of each block, and
// bytes of dynamic shared memory of each block.
type Grid struct {
	Blocks, Threads cudart.Dim3
	Shared          uint32
}

// linearBlock is the block of a one-dimensional launch: a multiple of the warp,
// small enough for every device and register count that is usual.
const linearBlock = 256

// Linear is a grid of at least n threads in one dimension, in blocks of 256. A
// kernel compares its index with n. Linear(0) is a grid of one block.
func Linear(n int) Grid {
	blocks := max(1, (int64(n)+linearBlock-1)/linearBlock)
	return Grid{Blocks: cudart.Dim3{X: uint32(min(blocks, math.MaxUint32)), Y: 1, Z: 1}, Threads: cudart.Dim3{X: linearBlock, Y: 1, Z: 1}}
}

// Blocks is a grid of n blocks of threads threads, in one dimension.
func Blocks(n, threads int) Grid {
	return Grid{Blocks: cudart.Dim3{X: uint32(n), Y: 1, Z: 1}, Threads: cudart.Dim3{X: uint32(threads), Y: 1, Z: 1}}
}

// gridFault says what a device cannot launch, or is empty.
func gridFault(g Grid, info *cudart.DeviceInfo, f cudart.FunctionInfo) string {
	b, t := g.Blocks, g.Threads
	switch threads := uint64(t.X) * uint64(t.Y) * uint64(t.Z); {
	case b.X == 0 || b.Y == 0 || b.Z == 0 || threads == 0:
		return fmt.Sprintf("grid %v of blocks %v has an extent of 0", b, t)
	case b.X > info.MaxGrid.X || b.Y > info.MaxGrid.Y || b.Z > info.MaxGrid.Z:
		return fmt.Sprintf("grid %v is larger than the device's %v", b, info.MaxGrid)
	case t.X > info.MaxBlock.X || t.Y > info.MaxBlock.Y || t.Z > info.MaxBlock.Z:
		return fmt.Sprintf("block %v is larger than the device's %v", t, info.MaxBlock)
	case threads > uint64(info.MaxThreads) || f.MaxThreads > 0 && threads > uint64(f.MaxThreads):
		return fmt.Sprintf("block %v has %d threads, at most %d are possible", t, threads, min(info.MaxThreads, max(f.MaxThreads, 1)))
	case g.Shared > info.MaxShared:
		return fmt.Sprintf("%d bytes of shared memory, at most %d are possible", g.Shared, info.MaxShared)
	}
	return ""
}

// Launch issues a launch of k for an owner. Every argument is checked first: its
// count, its kind, and by [Memory.Use] whether the owner may use it so.
func (s *Stream) Launch(owner uint32, k *Kernel, g Grid, args ...Arg) error {
	fn, err := s.d.function(k)
	if err != nil {
		return err
	}
	if len(args) != len(k.params) {
		return &LaunchError{k.name, -1, fmt.Sprintf("%d arguments, it takes %d", len(args), len(k.params))}
	}
	if t := gridFault(g, &s.d.info, fn.info); t != "" {
		return &LaunchError{k.name, -1, t}
	}
	raw := s.scratch(len(args))
	for i := range args {
		if err := s.resolve(owner, k, i, &args[i], &raw[i]); err != nil {
			return err
		}
	}
	if !s.list.Launch(fn.f, g.Blocks, g.Threads, g.Shared, raw...) {
		if err := s.room(); err != nil {
			return err
		}
		s.list.Launch(fn.f, g.Blocks, g.Threads, g.Shared, raw...)
	}
	for i := range args {
		if args[i].access.Writes() {
			s.effects = append(s.effects, effect{s.list.Len() - 1, k.name, args[i].mem, args[i].gen})
		}
	}
	return s.issue(cudart.OpLaunch, k.name, nil, 0)
}

// scratch is room for n arguments, the owner's, to be written in full.
func (s *Stream) scratch(n int) []cudart.Arg {
	if n > len(s.args) {
		s.args = make([]cudart.Arg, max(n, 16))
	}
	return s.args[:n]
}

func (s *Stream) resolve(owner uint32, k *Kernel, i int, a *Arg, raw *cudart.Arg) error {
	p := &k.params[i]
	if (a.mem != nil) != (p.access != cudart.Scalar) || a.access.Writes() != p.access.Writes() ||
		a.mem == nil && a.elem != p.elem {
		return &LaunchError{k.name, i, fmt.Sprintf("declared %v, given %v", p, Param{a.access, a.elem, 0})}
	}
	if a.mem == nil {
		*raw = cudart.Arg{Slot: a.slot}
		return nil
	}
	ptr, bytes, elem, err := a.mem.Use(owner, a.gen, a.access)
	if err != nil {
		return fmt.Errorf("device: kernel %s: parameter %d: %w", k.name, i, err)
	}
	if elem != p.elem {
		return &LaunchError{k.name, i, fmt.Sprintf("declared %v, given memory of %v", p, elem)}
	}
	*raw = cudart.Arg{Slot: uint64(ptr), Bytes: bytes, Access: a.access}
	return nil
}

// functions are the kernels loaded on a device.
type functions struct {
	mu      sync.Mutex
	byID    atomic.Pointer[[]*function]
	modules map[*Module]cudart.Module
}

type function struct {
	f    cudart.Function
	info cudart.FunctionInfo
}

// function is k on the device, loaded with its module where it is not yet.
func (d *Device) function(k *Kernel) (*function, error) {
	if t := d.fns.byID.Load(); t != nil && k.id < len(*t) {
		if f := (*t)[k.id]; f != nil {
			return f, nil
		}
	}
	if k.err != nil {
		return nil, k.err
	}
	if err := d.load(k.module, k); err != nil {
		return nil, err
	}
	return (*d.fns.byID.Load())[k.id], nil
}

// Load loads modules on the device, with every kernel declared of them so far.
// It synchronises the device. Any goroutine may call it.
func (d *Device) Load(modules ...*Module) error {
	for _, m := range modules {
		m.mu.Lock()
		kernels := append([]*Kernel(nil), m.kernels...)
		m.mu.Unlock()
		for _, k := range kernels {
			if k.err != nil {
				return k.err
			}
			if err := d.load(m, k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *Device) load(m *Module, k *Kernel) error {
	d.fns.mu.Lock()
	defer d.fns.mu.Unlock()
	return d.Do(func() error {
		h, ok := d.fns.modules[m]
		if !ok {
			var err error
			if h, err = d.rt.LoadModule(d.ctx, m.image); err != nil {
				return fmt.Errorf("device: module %s on %v: %w", m.image.Name, d, err)
			}
			if d.fns.modules == nil {
				d.fns.modules = map[*Module]cudart.Module{}
			}
			d.fns.modules[m] = h
		}
		f, info, err := d.rt.Function(d.ctx, h, k.name)
		if err != nil {
			return fmt.Errorf("device: kernel %s of module %s: %w", k.name, m.image.Name, err)
		}
		var old []*function
		if t := d.fns.byID.Load(); t != nil {
			old = *t
		}
		table := make([]*function, max(len(old), k.id+1))
		copy(table, old)
		table[k.id] = &function{f, info}
		d.fns.byID.Store(&table)
		return nil
	})
}

func (f *functions) close(d *Device) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.byID.Store(nil)
	for m, h := range f.modules {
		if err := d.rt.UnloadModule(d.ctx, h); err != nil {
			return fmt.Errorf("device: unload module %s: %w", m.image.Name, err)
		}
	}
	clear(f.modules)
	return nil
}
