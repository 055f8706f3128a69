package transfer

import (
	"fmt"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
)

// Copy issues a copy of all of src into dst, from its beginning, both on s's device.
func Copy[T buffer.Element](s *actor.Stream, dst, src buffer.Buf[T]) error {
	o, err := s.Owner()
	if err != nil {
		return err
	}
	if src.Len() > dst.Len() && dst.Valid() && src.Valid() {
		return fmt.Errorf("transfer: copy of %d elements into %d: %w", src.Len(), dst.Len(), cudart.ErrInvalidValue)
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
