package transfer

import (
	"fmt"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
)

// Download issues a copy of all of src into dst, from its beginning. The CPU reads
// dst when it is there, by [buffer.Host.Slice]. A dst that is shorter than src is an
// [ErrLength]. Nothing blocks. The actor's own goroutine calls it.
func Download[T buffer.Element](s *actor.Stream, dst buffer.Host[T], src buffer.Buf[T]) error {
	o, err := s.Owner()
	if err != nil {
		return err
	}
	if src.Len() > dst.Len() && dst.Valid() && src.Valid() {
		return fmt.Errorf("%w: a download of %d elements into a host buffer of %d", ErrLength, src.Len(), dst.Len())
	}
	return downloadAt(s, o, dst, src, 0, src.Len())
}

// downloadAt issues a copy of n elements of src, from element at on, into dst, from
// its beginning.
func downloadAt[T buffer.Element](s *actor.Stream, o *buffer.Owner, dst buffer.Host[T], src buffer.Buf[T], at, n int) error {
	from, _, err := src.Use(o, cudart.In)
	if err != nil {
		return err
	}
	a := cudart.Out
	if n < dst.Len() {
		a = cudart.InOut // not in full
	}
	to, _, err := dst.Copying(o, a)
	if err != nil || n == 0 {
		return err
	}
	size := elemSize[T]()
	w, gen := dst.Written()
	if err := o.Stream.Download(to, from+cudart.DevicePtr(uint64(at)*size), uint64(n)*size, w, gen); err != nil {
		return err
	}
	dst.Copied(o)
	count(s.System(), RouteDownload, uint64(n)*size)
	return nil
}
