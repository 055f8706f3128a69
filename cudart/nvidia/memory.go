//go:build linux && (amd64 || arm64)

package nvidia

import (
	"errors"
	"math"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

const (
	allocationPinned = 1 // device memory proper, the only kind that a pool takes
	locationDevice   = 1
	accessReadWrite  = 3
	hostPortable     = 1 // pinned for every context, not only for the current one

	poolReuseInternalDependencies = 3
	poolReleaseThreshold          = 4
)

type memLocation struct{ kind, id int32 }

type memAccess struct {
	location memLocation
	flags    int32
}

// poolProps is 88 bytes, of which the driver has given names to more over time;
// zero is right for those not named here.
type poolProps struct {
	allocation, handles int32
	location            memLocation
	security            uintptr
	maxSize             uint64
	_                   [56]byte
}

var _ [88]byte = [unsafe.Sizeof(poolProps{})]byte{}

func (d *driver) CreatePool(ctx cudart.Context) (cudart.Pool, error) {
	var dev int32
	if err := d.in(ctx, cuCtxGetDevice, uintptr(unsafe.Pointer(&dev))); err != nil {
		return 0, err
	}
	props := poolProps{allocation: allocationPinned, location: memLocation{locationDevice, dev}}
	var p cudart.Pool
	if err := d.do(cuMemPoolCreate, uintptr(unsafe.Pointer(&p)), uintptr(unsafe.Pointer(&props))); err != nil {
		return 0, err
	}
	if err := d.setUpPool(p); err != nil {
		return 0, errors.Join(err, d.do(cuMemPoolDestroy, uintptr(p)))
	}
	return p, nil
}

// setUpPool keeps what is freed, and forbids the driver to make a stream wait
// for another so that memory can be used again: independent streams would depend
// on each other and nobody could see why. The two other ways of reuse add no
// wait, they find memory whose free is already ordered or already done, and stay.
func (d *driver) setUpPool(p cudart.Pool) error {
	keep, off := uint64(math.MaxUint64), int32(0)
	if err := d.do(cuMemPoolSetAttribute, uintptr(p), poolReleaseThreshold, uintptr(unsafe.Pointer(&keep))); err != nil {
		return err
	}
	return d.do(cuMemPoolSetAttribute, uintptr(p), poolReuseInternalDependencies, uintptr(unsafe.Pointer(&off)))
}

func (d *driver) DestroyPool(ctx cudart.Context, p cudart.Pool) error {
	return d.in(ctx, cuMemPoolDestroy, uintptr(p))
}

func (d *driver) AllowPeer(ctx cudart.Context, p cudart.Pool, peer int) error {
	dev, err := d.device(peer)
	if err != nil {
		return err
	}
	const one = 1
	access := memAccess{location: memLocation{locationDevice, int32(dev)}, flags: accessReadWrite}
	return d.in(ctx, cuMemPoolSetAccess, uintptr(p), uintptr(unsafe.Pointer(&access)), one)
}

func (d *driver) TrimPool(ctx cudart.Context, p cudart.Pool, keep uint64) error {
	return d.in(ctx, cuMemPoolTrimTo, uintptr(p), uintptr(keep))
}

func (d *driver) Alloc(ctx cudart.Context, p cudart.Pool, bytes uint64, s cudart.Stream) (cudart.DevicePtr, error) {
	if err := d.needStream(ctx, s, cuMemAllocFromPoolAsync); err != nil {
		return 0, err
	}
	var ptr cudart.DevicePtr
	err := d.do(cuMemAllocFromPoolAsync, uintptr(unsafe.Pointer(&ptr)), uintptr(bytes), uintptr(p), uintptr(s))
	return ptr, err
}

func (d *driver) MemInfo(ctx cudart.Context) (free, total uint64, err error) {
	var f, t uint64
	err = d.in(ctx, cuMemGetInfo, uintptr(unsafe.Pointer(&f)), uintptr(unsafe.Pointer(&t)))
	return f, t, err
}

func (d *driver) AllocHost(ctx cudart.Context, bytes uint64) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	err := d.in(ctx, cuMemHostAlloc, uintptr(unsafe.Pointer(&p)), uintptr(bytes), hostPortable)
	return p, err
}

func (d *driver) FreeHost(ctx cudart.Context, p unsafe.Pointer) error {
	return d.in(ctx, cuMemFreeHost, uintptr(p))
}
