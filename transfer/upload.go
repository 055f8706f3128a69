package transfer

import (
	"fmt"

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
	to, bytes, err := dst.Use(o, cudart.Out)
	if err != nil {
		return err
	}
	from, _, err := src.Copying(o, cudart.In)
	if err != nil || bytes == 0 {
		return err
	}
	w, gen := dst.Written()
	if err := o.Stream.Upload(to, from, bytes, w, gen); err != nil {
		return err
	}
	src.Copied(o)
	count(s.System(), RouteUpload, bytes)
	return nil
}
