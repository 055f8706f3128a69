package transfer

import (
	"errors"
	"fmt"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
)

// ErrLength is a copy whose destination is too short, or whose source is: see
// [Upload], [Download] and [Copy].
var ErrLength = errors.New("transfer: lengths differ")

// Copy issues a copy of all of src into dst, from its beginning, both on s's device.
// A dst that is shorter than src is an ErrLength; what of it is behind the copy stays
// as it is. Nothing blocks. The actor's own goroutine calls it.
func Copy[T buffer.Element](s *actor.Stream, dst, src buffer.Buf[T]) error {
	o, err := s.Owner()
	if err != nil {
		return err
	}
	if src.Len() > dst.Len() && dst.Valid() && src.Valid() {
		return fmt.Errorf("%w: a copy of %d elements into a buffer of %d", ErrLength, src.Len(), dst.Len())
	}
	from, bytes, err := src.Use(o, cudart.In)
	if err != nil {
		return err
	}
	a := cudart.Out
	if bytes < dst.Bytes() {
		a = cudart.InOut
	}
	to, _, err := dst.Use(o, a)
	if err != nil || bytes == 0 {
		return err
	}
	w, gen := dst.Written()
	if err := o.Stream.Copy(to, from, bytes, w, gen); err != nil {
		return err
	}
	count(s.System(), RouteLocal, bytes)
	return nil
}
