package transfer

import (
	"fmt"
	"unsafe"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
)

// Upload issues a copy of src, from its beginning, into all of dst. Neither may be
// used by another stream until the caller hands it on; the CPU gets src back, when
// the copy has finished, by [buffer.Host.Slice]. A src that is shorter than dst is an
// [ErrLength]. Nothing blocks. The actor's own goroutine calls it.
func Upload[T buffer.Element](s *actor.Stream, dst buffer.Buf[T], src buffer.Host[T]) error {
	o, err := s.Owner()
	if err != nil {
		return err
	}
	if dst.Len() > src.Len() && dst.Valid() && src.Valid() {
		return fmt.Errorf("%w: an upload of %d elements from a host buffer of %d", ErrLength, dst.Len(), src.Len())
	}
	return uploadAt(s, o, dst, 0, dst.Len(), src)
}

// uploadAt issues a copy of src, from its beginning, into n elements of dst, from
// element at on.
func uploadAt[T buffer.Element](s *actor.Stream, o *buffer.Owner, dst buffer.Buf[T], at, n int, src buffer.Host[T]) error {
	a := cudart.Out
	if n < dst.Len() {
		a = cudart.InOut // not in full
	}
	to, _, err := dst.Use(o, a)
	if err != nil {
		return err
	}
	from, _, err := src.Copying(o, cudart.In)
	if err != nil || n == 0 {
		return err
	}
	size := elemSize[T]()
	w, gen := dst.Written()
	if err := o.Stream.Upload(to+cudart.DevicePtr(uint64(at)*size), from, uint64(n)*size, w, gen); err != nil {
		return err
	}
	src.Copied(o)
	count(s.System(), RouteUpload, uint64(n)*size)
	return nil
}

// elemSize is the size of an element in bytes.
func elemSize[T buffer.Element]() uint64 {
	var zero T
	return uint64(unsafe.Sizeof(zero))
}
