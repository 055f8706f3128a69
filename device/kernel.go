package device

import (
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
)

// Elem is the kind of a buffer's elements, or of a scalar. Types of one kind are the
// same here, whatever their names.
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

// Scalar declares a number passed by value, whose argument is [U8] to [F64].
func Scalar[T any]() Param {
	t := reflect.TypeFor[T]()
	return Param{cudart.Scalar, t.Kind(), int(t.Size())}
}

// String is the parameter as launch errors say it: "in []float32", "uint32".
func (p Param) String() string {
	if p.access == cudart.Scalar {
		return p.elem.String()
	}
	return p.access.String() + " []" + p.elem.String()
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
// error of every launch. Any goroutine may call it.
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

// check compares the declaration with the PTX.
func (k *Kernel) check() error {
	if k.module.err != nil {
		return k.module.err
	}
	e, ok := k.module.entries[k.name]
	if !ok {
		return &LaunchError{k.name, -1, fmt.Sprintf("module %s has no kernel of that name", k.module.image.Name)}
	}
	if len(k.params) > cudart.MaxArgs {
		return &LaunchError{k.name, -1, fmt.Sprintf("declared with %d parameters, at most %d are possible", len(k.params), cudart.MaxArgs)}
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
