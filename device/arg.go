package device

import (
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
