package transfer

import (
	"fmt"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
)

// FromSlice makes a buffer on s's device with the elements of an ordinary slice,
// which the caller may change at once: it is staged through pinned memory.
func FromSlice[T buffer.Element](s *actor.Stream, src []T) (buffer.Buf[T], error) {
	b, err := buffer.New[T](s, len(src))
	if err != nil {
		return b, err
	}
	h, err := buffer.NewHost[T](s, len(src))
	if err != nil {
		return b, undo(err, b.Release(s))
	}
	slab, err := h.Slice(s)
	if err == nil {
		copy(slab, src)
		err = Upload(s, b, h)
	}
	if err := undo(err, h.Release(s)); err != nil {
		return b, undo(err, b.Release(s))
	}
	return b, nil
}

// ToSlice copies a buffer into an ordinary slice, and waits for it.
func ToSlice[T buffer.Element](s *actor.Stream, b buffer.Buf[T]) ([]T, error) {
	h, err := buffer.NewHost[T](s, b.Len())
	if err != nil {
		return nil, err
	}
	if err := Download(s, h, b); err != nil {
		return nil, undo(err, h.Release(s))
	}
	slab, err := h.Slice(s)
	if err != nil {
		return nil, undo(err, h.Release(s))
	}
	return append([]T(nil), slab...), h.Release(s)
}

// undo is err with what undoing added to it.
func undo(err, more error) error {
	if err != nil && more != nil {
		return fmt.Errorf("%w (and then: %w)", err, more)
	}
	if err == nil {
		return more
	}
	return err
}
