//go:build linux && (amd64 || arm64)

package nvidia

import (
	"time"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

const (
	streamNonBlocking  = 1
	eventDisableTiming = 2
)

func (d *driver) CreateStream(ctx cudart.Context) (cudart.Stream, error) {
	var s cudart.Stream
	err := d.in(ctx, cuStreamCreate, uintptr(unsafe.Pointer(&s)), streamNonBlocking)
	return s, err
}

func (d *driver) DestroyStream(ctx cudart.Context, s cudart.Stream) error {
	if err := d.needStream(ctx, s, cuStreamDestroy); err != nil {
		return err
	}
	return d.do(cuStreamDestroy, uintptr(s))
}

func (d *driver) SynchronizeStream(ctx cudart.Context, s cudart.Stream) error {
	if err := d.needStream(ctx, s, cuStreamSynchronize); err != nil {
		return err
	}
	return d.do(cuStreamSynchronize, uintptr(s))
}

func (d *driver) CreateEvent(ctx cudart.Context, timing bool) (cudart.Event, error) {
	flags := uintptr(eventDisableTiming)
	if timing {
		flags = 0
	}
	var e cudart.Event
	err := d.in(ctx, cuEventCreate, uintptr(unsafe.Pointer(&e)), flags)
	return e, err
}

func (d *driver) DestroyEvent(ctx cudart.Context, e cudart.Event) error {
	return d.in(ctx, cuEventDestroy, uintptr(e))
}

func (d *driver) QueryEvent(e cudart.Event) (bool, error) {
	switch code := d.quick(cuEventQuery, uintptr(e)); code {
	case 0:
		return true, nil
	case cudart.ErrNotReady:
		return false, nil
	default:
		return false, d.refused(cuEventQuery, code, "")
	}
}

func (d *driver) Elapsed(start, end cudart.Event) (time.Duration, error) {
	var ms float32
	if err := d.do(cuEventElapsedTime, uintptr(unsafe.Pointer(&ms)), uintptr(start), uintptr(end)); err != nil {
		return 0, err
	}
	return time.Duration(float64(ms) * float64(time.Millisecond)), nil
}
