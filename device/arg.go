package device

import (
	"fmt"
	"math"
	"reflect"

	"github.com/gpuactor/gpuactor/cudart"
)

// Memory is what stands behind a memory argument: it answers for one life of it.
type Memory interface {
	Written
	// Use is asked when the command is issued, with who issues it and what the
	// command does: where the memory is, its elements, or why not.
	Use(owner, gen uint32, a cudart.Access) (p cudart.DevicePtr, bytes uint64, elem Elem, err error)
}

// Arg is one argument of a launch: a scalar, or memory and what is done to it. The
// zero Arg is none, and fits no parameter.
type Arg struct {
	access cudart.Access
	elem   Elem
	gen    uint32
	slot   uint64
	mem    Memory
}

// MemoryArg is the argument for life gen of some memory. It is for packages that
// own memory; programs write b.In(), b.Out() and b.InOut().
func MemoryArg(m Memory, gen uint32, a cudart.Access) Arg {
	return Arg{access: a, gen: gen, mem: m}
}

// describe says what the argument is, as a [Param] does. The memory is asked here,
// where an error is being written, for what a launch that goes well learns anyway.
func (a *Arg) describe(owner uint32) string {
	switch {
	case a.mem == nil && a.elem == reflect.Invalid:
		return "no argument (a zero device.Arg)"
	case a.mem == nil:
		return a.elem.String()
	}
	_, _, elem, err := a.mem.Use(owner, a.gen, a.access)
	if err != nil {
		return fmt.Sprintf("%v memory (%v)", a.access, err)
	}
	return Param{a.access, elem, 0}.String()
}

// U8 is the argument for a parameter declared as Scalar[uint8].
func U8(v uint8) Arg { return Arg{elem: reflect.Uint8, slot: uint64(v)} }

// I8 is the argument for a parameter declared as Scalar[int8].
func I8(v int8) Arg { return Arg{elem: reflect.Int8, slot: uint64(uint8(v))} }

// U16 is the argument for a parameter declared as Scalar[uint16].
func U16(v uint16) Arg { return Arg{elem: reflect.Uint16, slot: uint64(v)} }

// I16 is the argument for a parameter declared as Scalar[int16].
func I16(v int16) Arg { return Arg{elem: reflect.Int16, slot: uint64(uint16(v))} }

// U32 is the argument for a parameter declared as Scalar[uint32].
func U32(v uint32) Arg { return Arg{elem: reflect.Uint32, slot: uint64(v)} }

// I32 is the argument for a parameter declared as Scalar[int32].
func I32(v int32) Arg { return Arg{elem: reflect.Int32, slot: uint64(uint32(v))} }

// U64 is the argument for a parameter declared as Scalar[uint64].
func U64(v uint64) Arg { return Arg{elem: reflect.Uint64, slot: v} }

// I64 is the argument for a parameter declared as Scalar[int64].
func I64(v int64) Arg { return Arg{elem: reflect.Int64, slot: uint64(v)} }

// F32 is the argument for a parameter declared as Scalar[float32].
func F32(v float32) Arg { return Arg{elem: reflect.Float32, slot: uint64(math.Float32bits(v))} }

// F64 is the argument for a parameter declared as Scalar[float64].
func F64(v float64) Arg { return Arg{elem: reflect.Float64, slot: math.Float64bits(v)} }
