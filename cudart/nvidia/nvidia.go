// Package nvidia is the [cudart.Runtime] on NVIDIA's driver library.
//
// The library is opened when a program starts to use it, so that building needs
// no toolkit and no GPU, and one binary runs on machines with and without. A
// program imports the package for its registration:
//
//	import _ "github.com/gpuactor/gpuactor/cudart/nvidia"
//
// With cgo a list of commands crosses into C once, through a trampoline of this
// package; with CGO_ENABLED=0 every command is a call through purego, and no C
// compiler is needed. Nothing else differs between the two.
//
// Submit is the one method that takes a context and does not check that it is
// current. Handles that were destroyed are as undefined here as they are in the
// driver.
package nvidia

import "github.com/gpuactor/gpuactor/cudart"

func init() { cudart.Register("nvidia", Open) }

// Open opens the driver library and initialises it. The driver is one for the
// process, and so is what Open returns: the first call decides, every other one
// returns the same, and its Close does nothing.
//
// Before it initialises the driver it sets CUDA_DEVICE_MAX_CONNECTIONS to 32 in
// the process's environment, unless it is set: with the driver's default of 8,
// more streams than that wait for each other.
//
// It fails with [cudart.ErrNoDriver] where there is no driver library, with
// [cudart.ErrNoDevices] where the driver shows no device, and with a
// [*cudart.VersionError] where there is a device and the driver is too old.
func Open() (cudart.Runtime, error) { return open() }
