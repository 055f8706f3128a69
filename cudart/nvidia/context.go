//go:build linux && (amd64 || arm64)

package nvidia

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

func (d *driver) RetainPrimary(device int) (cudart.Context, error) {
	dev, err := d.device(device)
	if err != nil {
		return 0, err
	}
	var ctx cudart.Context
	err = d.do(cuDevicePrimaryCtxRetain, uintptr(unsafe.Pointer(&ctx)), dev)
	return ctx, err
}

func (d *driver) ReleasePrimary(device int) error {
	dev, err := d.device(device)
	if err != nil {
		return err
	}
	return d.do(cuDevicePrimaryCtxRelease, dev)
}

func (d *driver) CreateContext(device int) (cudart.Context, error) {
	// The driver leaves a new context current on the thread that made it: it is
	// taken off the same thread again.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dev, err := d.device(device)
	if err != nil {
		return 0, err
	}
	const flags = 0
	var ctx, popped cudart.Context
	if err := d.do(cuCtxCreate, uintptr(unsafe.Pointer(&ctx)), flags, dev); err != nil {
		return 0, err
	}
	if err := d.do(cuCtxPopCurrent, uintptr(unsafe.Pointer(&popped))); err != nil {
		return 0, errors.Join(err, d.DestroyContext(ctx))
	}
	return ctx, nil
}

func (d *driver) DestroyContext(ctx cudart.Context) error {
	return d.do(cuCtxDestroy, uintptr(ctx))
}

func (d *driver) SetCurrent(ctx cudart.Context) error {
	if code := d.quick(cuCtxSetCurrent, uintptr(ctx)); code != 0 {
		return d.refused(cuCtxSetCurrent, code, "")
	}
	return nil
}

func (d *driver) Current() (cudart.Context, error) {
	var ctx cudart.Context
	err := d.do(cuCtxGetCurrent, uintptr(unsafe.Pointer(&ctx)))
	return ctx, err
}

func (d *driver) SynchronizeContext(ctx cudart.Context) error {
	return d.in(ctx, cuCtxSynchronize)
}

func (d *driver) EnablePeer(ctx, peer cudart.Context) error {
	const flags = 0
	err := d.in(ctx, cuCtxEnablePeerAccess, uintptr(peer), flags)
	if errors.Is(err, cudart.ErrPeerAlreadyEnabled) {
		return nil
	}
	return err
}
