package transfer

import (
	"fmt"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
)

// FromSlice makes a buffer on s's device with the elements of an ordinary slice,
// which the caller may change at once: it is staged through pinned memory, chunk by
// chunk, while the GPU copies the chunk before. It waits for the device only where
// that has 64 MiB of one call still to copy.
func FromSlice[T buffer.Element](s *actor.Stream, src []T) (buffer.Buf[T], error) {
	b, err := buffer.New[T](s, len(src))
	if err != nil {
		return b, err
	}
	if err := upload(s, b, src); err != nil {
		return b, undo(err, b.Release(s))
	}
	return b, nil
}

// upload copies all of src into b.
func upload[T buffer.Element](s *actor.Stream, b buffer.Buf[T], src []T) error {
	o, err := s.Owner()
	if err != nil {
		return err
	}
	if len(src) > chunkOf[T]() {
		g := newStager(s, o, b, src)
		return g.close(g.up())
	}
	h, err := buffer.NewHost[T](s, len(src))
	if err != nil {
		return err
	}
	slab, err := h.Slice(s)
	if err == nil {
		copy(slab, src)
		err = Upload(s, b, h)
	}
	return undo(err, h.Release(s))
}

// ToSlice copies a buffer into a new slice, and waits for it. Where the memory is
// there already, [CopyToSlice] saves making it, which for a large buffer takes as long
// again as the copy.
func ToSlice[T buffer.Element](s *actor.Stream, b buffer.Buf[T]) ([]T, error) {
	dst := make([]T, b.Len())
	if err := CopyToSlice(s, dst, b); err != nil {
		return nil, err
	}
	return dst, nil
}

// CopyToSlice copies all of src into an ordinary slice, from its beginning, and waits
// for it. A dst that is shorter than src is an [ErrLength]; what of dst is behind the
// copy stays as it is. On any other error dst may have been written in part. The
// actor's own goroutine calls it.
func CopyToSlice[T buffer.Element](s *actor.Stream, dst []T, src buffer.Buf[T]) error {
	o, err := s.Owner()
	if err != nil {
		return err
	}
	if src.Len() > len(dst) && src.Valid() {
		return fmt.Errorf("%w: a copy of %d elements into a slice of %d", ErrLength, src.Len(), len(dst))
	}
	dst = dst[:src.Len()]
	if len(dst) > chunkOf[T]() {
		g := newStager(s, o, src, dst)
		return g.close(g.down())
	}
	h, err := buffer.NewHost[T](s, len(dst))
	if err != nil {
		return err
	}
	err = Download(s, h, src)
	if err == nil {
		var slab []T
		slab, err = h.Slice(s)
		copy(dst, slab)
	}
	return undo(err, h.Release(s))
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
