//go:build linux && (amd64 || arm64)

package nvidia

import (
	"fmt"
	"os"
	"sync"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gpuactor/gpuactor/cudart"
)

const (
	library = "libcuda.so.1"

	// connectionsEnv is how many hardware queues the driver opens for a context,
	// read once when it initialises. 32 is its maximum.
	connectionsEnv = "CUDA_DEVICE_MAX_CONNECTIONS"
	connections    = "32"

	// errStubLibrary is what the toolkit's link-time stand-in for the driver
	// library answers to everything.
	errStubLibrary cudart.Code = 34
)

var open = sync.OnceValues(func() (cudart.Runtime, error) {
	d, err := openLibrary(library)
	if err != nil {
		return nil, err // and not a nil *driver in an interface
	}
	return d, nil
})

// openLibrary does all that comes before the first context. Devices are counted
// before entry points are missed: a machine without a device may have any old
// driver, and is not in error.
func openLibrary(path string) (*driver, error) {
	if err := raiseConnections(); err != nil {
		return nil, err
	}
	lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", cudart.ErrNoDriver, err)
	}
	d := &driver{start: time.Now()}
	if err := d.initialise(lib); err != nil {
		return nil, err
	}
	lookup := procAddress(lib)
	if lookup == nil {
		return nil, &cudart.VersionError{Entry: "cuGetProcAddress", Needs: 11030, Driver: d.version}
	}
	if d.entries, err = resolve(lookup, d.version); err != nil {
		return nil, err
	}
	return d, nil
}

// raiseConnections changes the environment that libc's getenv sees, which is the
// one that the driver reads: os.Setenv reaches it wherever the program is linked
// with libc, by cgo or by purego.
func raiseConnections() error {
	if _, set := os.LookupEnv(connectionsEnv); set {
		return nil
	}
	if err := os.Setenv(connectionsEnv, connections); err != nil {
		return fmt.Errorf("cudart/nvidia: setting %s: %w", connectionsEnv, err)
	}
	return nil
}

// initialise initialises the driver and counts its devices, by means that every
// driver has had since the first.
func (d *driver) initialise(lib uintptr) error {
	for _, e := range []entry{cuInit, cuDeviceGetCount, cuDriverGetVersion, cuGetErrorName, cuGetErrorString} {
		p, err := purego.Dlsym(lib, e.String())
		if err != nil {
			return &cudart.VersionError{Entry: e.String(), Needs: table[e].version, Driver: d.version}
		}
		d.entries[e] = p
	}
	switch code := d.call(cuInit, 0); code {
	case 0:
	case cudart.ErrNoDevice:
		return fmt.Errorf("%w: cuInit: %w", cudart.ErrNoDevices, code)
	case errStubLibrary:
		return fmt.Errorf("%w: the library found is the toolkit's stub, which only serves to link", cudart.ErrNoDriver)
	default:
		return d.refused(cuInit, code, "")
	}
	var n, version int32
	if err := d.do(cuDeviceGetCount, uintptr(unsafe.Pointer(&n))); err != nil {
		return err
	}
	if n == 0 {
		return cudart.ErrNoDevices
	}
	if err := d.do(cuDriverGetVersion, uintptr(unsafe.Pointer(&version))); err != nil {
		return err
	}
	d.devices, d.version = int(n), int(version)
	return nil
}

// procAddress is the driver's own way to find an entry point by name and
// version, nil where it has none. As of CUDA 12.0 it takes a fifth parameter
// that says why something is missing; we need not know.
func procAddress(lib uintptr) func(name string, version int) uintptr {
	fn, err := purego.Dlsym(lib, "cuGetProcAddress_v2")
	if err != nil {
		if fn, err = purego.Dlsym(lib, "cuGetProcAddress"); err != nil {
			return nil
		}
	}
	return func(name string, version int) uintptr {
		const flags = 0 // entry points whose stream 0 is the legacy one; we never pass it
		cname := cstring(name)
		var p uintptr
		r, _, _ := purego.SyscallN(fn, uintptr(unsafe.Pointer(&cname[0])), uintptr(unsafe.Pointer(&p)), uintptr(version), flags, 0)
		if int32(r) != 0 {
			return 0
		}
		return p
	}
}
