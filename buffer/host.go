package buffer

import (
	"context"
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/device"
)

// Host is pinned host memory of elements T: a Go slice that the GPU copies to and
// from, with the same ownership as a [Buf]. The CPU reaches the slice only through
// its owner, and only when the last copy has finished. Its copies are issued by
// package transfer.
type Host[T Element] struct {
	Handle
	_ hostMarker
}

// NewHost allocates n elements of pinned memory, owned by u. What they hold at
// first is undefined. A negative n is an ErrInvalidValue, more than the machine has
// an ErrOutOfMemory; no budget counts here.
func NewHost[T Element](u User, n int) (Host[T], error) {
	o, err := u.Owner()
	if err != nil {
		return Host[T]{}, err
	}
	return allocHost[T](o.Stream.Device(), o.Stream.Device(), o.ID, n)
}

// HostOn is NewHost for an ordinary goroutine, which will own the memory. It comes
// from the pool of a device; any other may use it too.
func HostOn[T Element](d *device.Device, n int) (Host[T], error) {
	return allocHost[T](d, nil, hostID, n)
}

func allocHost[T Element](d, cur *device.Device, owner uint32, n int) (Host[T], error) {
	t := reflect.TypeFor[T]()
	bytes, err := size(n, t.Size())
	if err != nil {
		return Host[T]{}, err
	}
	b, err := d.AllocHost(max(bytes, 1), cur)
	if err != nil {
		return Host[T]{}, fmt.Errorf("buffer: %d %v of pinned memory for %s: %w", n, t, ownerName(owner), err)
	}
	x, gen := newSlot(nil, owner, func(x *slot) {
		x.host = b
		x.born(d, bytes, uint32(t.Kind())|pinnedElem)
	})
	return Host[T]{Handle: Handle{x, gen}}, nil
}

// Len is the number of elements; 0 once the memory has been released.
func (h Host[T]) Len() int { return Buf[T]{h.Handle}.Len() }

// Bytes is the size in bytes; 0 once the memory has been released.
func (h Host[T]) Bytes() uint64 { return Buf[T]{h.Handle}.Bytes() }

// Slice is the memory, once every copy that was issued on it has finished: u
// submits what it has pending, and waits until its context ends. The slice is
// good until u issues the next copy on the memory, sends it, or releases it.
func (h Host[T]) Slice(u User) ([]T, error) {
	o, err := u.Owner()
	if err != nil {
		return nil, err
	}
	if _, _, err := h.Use(o, cudart.InOut); err != nil {
		return nil, err
	}
	if !h.x.point.Known() {
		if o.Stream.Pending() > 0 {
			// With a mark: whoever waits on the host needs one.
			if _, err := o.Stream.Flush(h.x.point.Stream() == o.Stream); err != nil {
				return nil, err
			}
		}
		if err := o.AwaitPoint(h.x.point); err != nil {
			return nil, fmt.Errorf("buffer: waiting for %s: %w", h.x.describe(h.x.load(), h.gen), err)
		}
		if _, _, err := h.Use(o, cudart.InOut); err != nil {
			return nil, err // the copy was refused meanwhile
		}
	}
	h.x.point = device.Point{}
	return h.slice(), nil
}

// SliceCtx is Slice for an ordinary goroutine that owns the memory.
func (h Host[T]) SliceCtx(ctx context.Context) ([]T, error) {
	if h.x == nil {
		return nil, missing.ownership(0, hostID, 0)
	}
	if _, _, _, err := h.x.Use(hostID, h.gen, cudart.InOut); err != nil {
		return nil, err
	}
	for wait := 10 * time.Microsecond; ; wait = min(2*wait, time.Millisecond) {
		done, err := h.x.point.Done(nil)
		if err != nil {
			return nil, fmt.Errorf("buffer: waiting for %s: %w", h.x.describe(h.x.load(), h.gen), err)
		}
		if done {
			h.x.point = device.Point{}
			return h.slice(), nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// slice is the memory, for the CPU to read and to write.
func (h Host[T]) slice() []T {
	h.x.host.Accessed(h.x.bytes.Load(), true)
	var zero T
	n := h.x.bytes.Load() / uint64(unsafe.Sizeof(zero))
	return unsafe.Slice((*T)(h.x.host.Ptr()), n)
}

// Release ends the owner's use of the memory: it is reused when the last copy that
// was issued on it has finished.
func (h Host[T]) Release(u User) error { return h.release(u) }

// ReleaseHere is Release for an ordinary goroutine that owns the memory.
func (h Host[T]) ReleaseHere() error {
	if h.x == nil {
		return missing.ownership(0, hostID, 0)
	}
	w := h.x.load()
	if w.gen() != h.gen || w.owner() != hostID || w.state() != Exclusive && w.state() != Poisoned {
		return h.x.ownership(w, hostID, h.gen)
	}
	h.x.mark("released at ")
	h.x.end(w, h.x.point, endedReleased)
	return nil
}

// Copying asks for the memory for a copy on o's stream that does a to it, a being
// In or Out. The copy comes after the last one on another stream, and the caller
// issues it right away.
func (h Host[T]) Copying(o *Owner, a cudart.Access) (unsafe.Pointer, uint64, error) {
	if _, _, err := h.Use(o, a); err != nil {
		return nil, 0, err
	}
	if err := o.Stream.WaitFor(h.x.point, "pinned memory"); err != nil {
		return nil, 0, err
	}
	return h.x.host.Ptr(), h.x.bytes.Load(), nil
}

// Copied notes that the copy was issued: the CPU and the pool wait for it.
func (h Host[T]) Copied(o *Owner) { h.x.point = o.Stream.Next() }
