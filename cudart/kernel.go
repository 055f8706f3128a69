package cudart

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"
)

// GoKernel is a kernel as the simulator runs it: one call does the whole grid.
// It runs on a goroutine of the simulator, must not keep anything of k, and
// touches no memory but what k gives it. A panic in it is a fault of the device.
type GoKernel func(k *KernelCall)

// KernelCall is one launch, as a [GoKernel] sees it. Arguments are numbered as
// in the kernel's signature.
type KernelCall struct {
	Grid, Block Dim3   // in blocks, in threads
	Shared      uint32 // bytes

	cmd Command
	mem Memory
}

// Memory resolves addresses of the device that a kernel runs on. A range that
// is not wholly inside live memory panics with a [Fault].
type Memory interface {
	// Resolve is the range of bytes from p on. It is good while the kernel runs.
	Resolve(p DevicePtr, bytes uint64) []byte
}

// Pace is a [Memory] that also knows how time passes for a kernel: see
// [KernelCall.Yield] and [KernelCall.Spend].
type Pace interface {
	Yield()
	Spend(d time.Duration)
}

// Fault is what an access outside live memory panics with in a [GoKernel].
type Fault struct{ Text string } // which access, and of what

// Error is the text.
func (f Fault) Error() string { return f.Text }

// Bind makes k the call that c, a launch, asks for. Runtimes call it; the
// call is reused from launch to launch.
func (k *KernelCall) Bind(c Command, mem Memory) {
	k.Grid, k.Block, k.Shared, k.cmd, k.mem = c.Grid, c.Block, c.Shared, c, mem
}

// Args is the number of arguments.
func (k *KernelCall) Args() int { return k.cmd.Args() }

// Size is how many bytes of memory argument i has by its caller's declaration, 0 for a scalar.
func (k *KernelCall) Size(i int) uint64 { return k.cmd.Arg(i).Bytes }

// Bytes is the memory behind argument i, as long as its caller declared.
func (k *KernelCall) Bytes(i int) []byte {
	a := k.cmd.Arg(i)
	if a.Access == Scalar {
		panic(Fault{fmt.Sprintf("argument %d is a scalar, not memory", i)})
	}
	if a.Bytes == 0 {
		return nil
	}
	return k.mem.Resolve(DevicePtr(a.Slot), a.Bytes)
}

// Uint64 is scalar argument i, as device.U64 gives it; narrower ones are its low bits.
func (k *KernelCall) Uint64(i int) uint64 { return k.cmd.Arg(i).Slot }

// Uint32 is scalar argument i, as device.U32 gives it.
func (k *KernelCall) Uint32(i int) uint32 { return uint32(k.cmd.Arg(i).Slot) }

// Uint16 is scalar argument i, as device.U16 gives it.
func (k *KernelCall) Uint16(i int) uint16 { return uint16(k.cmd.Arg(i).Slot) }

// Uint8 is scalar argument i, as device.U8 gives it.
func (k *KernelCall) Uint8(i int) uint8 { return uint8(k.cmd.Arg(i).Slot) }

// Int64 is scalar argument i, as device.I64 gives it.
func (k *KernelCall) Int64(i int) int64 { return int64(k.cmd.Arg(i).Slot) }

// Int32 is scalar argument i, as device.I32 gives it.
func (k *KernelCall) Int32(i int) int32 { return int32(k.cmd.Arg(i).Slot) }

// Int16 is scalar argument i, as device.I16 gives it.
func (k *KernelCall) Int16(i int) int16 { return int16(k.cmd.Arg(i).Slot) }

// Int8 is scalar argument i, as device.I8 gives it.
func (k *KernelCall) Int8(i int) int8 { return int8(k.cmd.Arg(i).Slot) }

// Float32 is scalar argument i, as device.F32 gives it.
func (k *KernelCall) Float32(i int) float32 {
	u := k.Uint32(i)
	return *(*float32)(unsafe.Pointer(&u))
}

// Float64 is scalar argument i, as device.F64 gives it.
func (k *KernelCall) Float64(i int) float64 {
	u := k.Uint64(i)
	return *(*float64)(unsafe.Pointer(&u))
}

// Yield lets others go on: a kernel that waits for something (a word that the host
// sets) calls it each time that it looks in vain, and before it has done anything
// that must not be done twice. A simulator that runs one thing at a time may end
// the call there the first time (its deferred functions run), and begin it again
// with arguments as they were. On a machine that is lost or closed it ends the call for
// good.
func (k *KernelCall) Yield() {
	if p, ok := k.mem.(Pace); ok {
		p.Yield()
		return
	}
	runtime.Gosched()
}

// Spend has the kernel take some time, by the clock of the runtime.
func (k *KernelCall) Spend(d time.Duration) {
	if p, ok := k.mem.(Pace); ok {
		p.Spend(d)
		return
	}
	for end := time.Now().Add(d); time.Now().Before(end); {
		runtime.Gosched()
	}
}

// View is the memory behind argument i as elements of T, which has no pointers;
// a rest shorter than one element is left out.
func View[T any](k *KernelCall, i int) []T {
	b := k.Bytes(i)
	var zero T
	n := len(b) / int(unsafe.Sizeof(zero))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}
