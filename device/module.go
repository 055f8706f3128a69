package device

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
)

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

// NewModule makes a module of an image, usually in a package variable: it needs no
// device. Whether its PTX can be read is known at once, and said when a kernel of it
// is used.
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
