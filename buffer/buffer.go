package buffer

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/device"
)

// Element is what buffers are made of: numbers of a fixed size.
type Element interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Handle is a buffer without its type.
type Handle struct {
	x   *slot
	gen uint32
}

// Valid reports whether the handle stands for a buffer that has not been released.
func (h Handle) Valid() bool {
	if h.x == nil {
		return false
	}
	w := h.x.load()
	return w.gen() == h.gen && w.state() != Free
}

// State is where the buffer is in its life, as of now.
func (h Handle) State() State {
	if !h.Valid() {
		return Free
	}
	return h.x.load().state()
}

// Buf is device memory of elements T. It is a small value to be copied freely;
// whoever owns what stands behind it may use it through any copy, and a stale copy
// is noticed. The zero Buf is no buffer.
type Buf[T Element] struct{ Handle }

// New allocates n elements on u's device, owned by u. What they hold at first is
// undefined. n of 0 is a buffer of no elements.
//
// Where the device's budget is used up it submits what u has pending and waits for
// releases, u's own included. It waits until u's context ends, also where nobody but
// u could release anything: an actor that holds the whole budget in buffers of its
// own and asks for more waits for itself. The error then says how much was held.
// More than the whole budget is an ErrOutOfMemory at once; a negative n is an
// ErrInvalidValue.
func New[T Element](u User, n int) (Buf[T], error) {
	o, err := u.Owner()
	if err != nil {
		return Buf[T]{}, err
	}
	h, err := alloc(o, n, reflect.TypeFor[T](), false)
	return Buf[T]{h}, err
}

// NewElsewhere is New for a buffer whose first use will be on another stream
// than u's, a copy's, say. It returns the point that this stream has to wait for.
func NewElsewhere[T Element](u User, n int) (Buf[T], device.Point, error) {
	o, err := u.Owner()
	if err != nil {
		return Buf[T]{}, device.Point{}, err
	}
	h, err := alloc(o, n, reflect.TypeFor[T](), true)
	if err != nil {
		return Buf[T]{}, device.Point{}, err
	}
	ready := h.x.dev.Ready()
	if ready.Stream() == o.Stream && !ready.Known() {
		// Its last use may not have been submitted, and the other stream needs an event.
		if _, err := o.Stream.Flush(true); err != nil {
			return Buf[T]{}, device.Point{}, errors.Join(err, Buf[T]{h}.Release(u))
		}
	}
	return Buf[T]{h}, ready, nil
}

// size is n elements in bytes, or an error.
func size(n int, elem uintptr) (uint64, error) {
	over, bytes := bits.Mul64(uint64(n), uint64(elem))
	if over == 0 && bytes <= device.MaxAlloc && n >= 0 {
		return bytes, nil
	}
	return 0, badSize(n, elem)
}

func badSize(n int, elem uintptr) error {
	if n < 0 {
		return fmt.Errorf("buffer: a negative length, %d: %w", n, cudart.ErrInvalidValue)
	}
	return fmt.Errorf("buffer: %d elements of %d bytes, larger than any device: %w", n, elem, cudart.ErrOutOfMemory)
}

func alloc(o *Owner, n int, t reflect.Type, elsewhere bool) (Handle, error) {
	bytes, err := size(n, t.Size())
	if err != nil {
		return Handle{}, err
	}
	d := o.Stream.Device()
	b, err := d.Alloc(o.Stream, max(bytes, 1), elsewhere)
	if err != nil && errors.Is(err, device.ErrBudget) {
		b, err = allocLater(o, max(bytes, 1), elsewhere)
	}
	if err != nil {
		return Handle{}, fmt.Errorf("buffer: %d %v for %s: %w", n, t, o.Name, err)
	}
	x, gen := newSlot(o, o.ID, func(x *slot) {
		x.dev = b
		x.born(d, bytes, uint32(t.Kind()))
	})
	return Handle{x, gen}, nil
}

// allocLater waits for its share of the budget, and finishes completions while it
// waits: what it waits for may be its own releases, which nobody else would
// submit, or those of actors that have gone to sleep.
func allocLater(o *Owner, bytes uint64, elsewhere bool) (*device.Block, error) {
	if _, err := o.Stream.Flush(true); err != nil {
		return nil, err
	}
	o.wants.bytes, o.wants.elsewhere = bytes, elsewhere
	err := o.Await(o.askBlock)
	b := o.wants.block
	o.wants.block = nil
	if err != nil && errors.Is(err, context.Cause(o.Context())) {
		err = fmt.Errorf("stopped while waiting for device memory: %v: %w", o.Stream.Device().Memory(), err)
	}
	return b, err
}

// Len is the number of elements; 0 once the buffer has been released.
func (b Buf[T]) Len() int {
	if !b.Valid() {
		return 0
	}
	var zero T
	return int(b.x.bytes.Load() / uint64(unsafe.Sizeof(zero)))
}

// Bytes is the size in bytes; 0 once the buffer has been released.
func (b Buf[T]) Bytes() uint64 {
	if !b.Valid() {
		return 0
	}
	return b.x.bytes.Load()
}

// Device is the device whose memory it is, nil once the buffer has been released.
func (b Buf[T]) Device() *device.Device {
	if !b.Valid() {
		return nil
	}
	return b.x.d.Load()
}

// In is the buffer as an argument of a launch that reads it, for a parameter declared
// with [device.In]. Whether its owner is who launches is checked by the launch.
func (b Buf[T]) In() device.Arg { return b.arg(cudart.In) }

// Out is the buffer as an argument of a launch that overwrites all of it and reads
// none of it, for a parameter declared with [device.Out]. It ends a poison.
func (b Buf[T]) Out() device.Arg { return b.arg(cudart.Out) }

// InOut is the buffer as an argument of a launch that reads and writes it, for a
// parameter declared with [device.InOut]; or that writes a part of it, for one
// declared with [device.Out] too.
func (b Buf[T]) InOut() device.Arg { return b.arg(cudart.InOut) }

// missing stands behind the zero Buf, so that its use is an error like any other.
var missing slot

func (h Handle) arg(a cudart.Access) device.Arg {
	if h.x == nil {
		return device.MemoryArg(&missing, 0, a)
	}
	return device.MemoryArg(h.x, h.gen, a)
}

// Release ends the owner's use of the buffer, after everything that the owner's
// stream has been given. A Foreign buffer's memory is released on its own device. A
// second release is an [*OwnershipError]. Nothing blocks.
func (b Buf[T]) Release(u User) error { return b.release(u) }

func (h Handle) release(u User) error {
	o, err := u.Owner()
	if err != nil {
		return err
	}
	if h.x == nil {
		return missing.ownership(0, o.ID, 0)
	}
	w := h.x.load()
	if w.gen() != h.gen || w.owner() != o.ID || w.state() == Free || w.state() == InFlight {
		return h.x.ownership(w, o.ID, h.gen)
	}
	h.x.mark("released at ")
	h.x.endOwned(w, o, endedReleased)
	return nil
}

// Fill issues a fill of the whole buffer with v, for elements of up to four bytes,
// and for larger ones where v is zero; others are an ErrNotSupported. Nothing blocks.
func (b Buf[T]) Fill(u User, v T) error {
	o, err := u.Owner()
	if err != nil {
		return err
	}
	p, bytes, err := b.Use(o, cudart.Out)
	if err != nil {
		return err
	}
	pattern, width, err := fillPattern(v)
	if err != nil || bytes == 0 {
		return err
	}
	return o.Stream.Fill(p, pattern, width, bytes/uint64(width), b.x, b.gen)
}

func fillPattern[T Element](v T) (pattern uint32, width int, err error) {
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v))
	if len(raw) == 8 {
		if *(*uint64)(unsafe.Pointer(&v)) != 0 { // -0 is no zero here
			return 0, 0, fmt.Errorf("buffer: fill with %v: elements of 8 bytes are filled with zero only; launch a kernel: %w", v, cudart.ErrNotSupported)
		}
		return 0, 4, nil
	}
	for i, x := range raw {
		pattern |= uint32(x) << (8 * i)
	}
	return pattern, len(raw), nil
}

// Use asks for the buffer's memory on behalf of its owner, for a command that
// does a to it. It is for packages that issue commands.
func (h Handle) Use(o *Owner, a cudart.Access) (cudart.DevicePtr, uint64, error) {
	if h.x == nil {
		return 0, 0, missing.ownership(0, o.ID, 0)
	}
	p, bytes, _, err := h.x.Use(o.ID, h.gen, a)
	return p, bytes, err
}

// Written is what a command that writes the buffer names, with its life.
func (h Handle) Written() (device.Written, uint32) { return h.x, h.gen }
