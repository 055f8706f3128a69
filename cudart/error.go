package cudart

import (
	"errors"
	"fmt"
)

// Code is an error number of the CUDA driver API (the enumeration CUresult in
// NVIDIA's public driver API reference). It is an error itself, so that a caller
// writes errors.Is(err, cudart.ErrOutOfMemory).
type Code int32

// The codes that callers tell apart. Others keep their number and name.
const (
	ErrInvalidValue        Code = 1   // an argument that makes no sense, a negative length
	ErrOutOfMemory         Code = 2   // of the device, or pinned memory of the host
	ErrNotInitialized      Code = 3   // the driver has not been initialised
	ErrDeinitialized       Code = 4   // the driver, or the runtime, has been closed
	ErrNoDevice            Code = 100 // the driver shows no device
	ErrInvalidDevice       Code = 101 // an ordinal that no device has
	ErrInvalidImage        Code = 200 // a module that is neither PTX nor a binary
	ErrInvalidContext      Code = 201 // no context, or one that is not current on the thread
	ErrNoBinaryForGPU      Code = 209 // the module has no code for this GPU
	ErrECCUncorrectable    Code = 214 // sticky: memory is damaged
	ErrPeerUnsupported     Code = 217 // no peer path between two devices
	ErrInvalidPTX          Code = 218 // the PTX could not be read or compiled
	ErrNVLinkUncorrectable Code = 220 // sticky: the link between GPUs failed
	ErrInvalidHandle       Code = 400 // a handle that is none, or no more
	ErrNotFound            Code = 500 // no kernel of that name
	ErrNotReady            Code = 600 // an event that is not complete
	ErrIllegalAddress      Code = 700 // sticky: a kernel or copy touched memory that is not there
	ErrLaunchResources     Code = 701 // a block larger than the kernel's registers allow
	ErrLaunchTimeout       Code = 702 // sticky: a kernel ran too long for a device with a display
	ErrPeerAlreadyEnabled  Code = 704 // said by the driver, and not by a Runtime
	ErrPeerNotEnabled      Code = 705 // a peer path that was not opened
	ErrContextDestroyed    Code = 709 // a context that is no more
	ErrAssert              Code = 710 // sticky: an assertion in a kernel failed
	ErrHardwareStack       Code = 714 // sticky: a kernel's call stack is corrupt
	ErrIllegalInstruction  Code = 715 // sticky: a kernel met one
	ErrMisalignedAddress   Code = 716 // sticky: a kernel touched memory at an address that is not aligned
	ErrInvalidAddressSpace Code = 717 // sticky: an instruction was given an address of another space
	ErrInvalidPC           Code = 718 // sticky: a kernel's program counter left the program
	ErrLaunchFailed        Code = 719 // sticky: a kernel failed; in the simulator, it panicked
	ErrNotPermitted        Code = 800 // the operation is not allowed here
	ErrNotSupported        Code = 801 // the device, or the driver, cannot do that
	ErrUnknown             Code = 999 // sticky: the driver does not know
)

var codeNames = map[Code]string{
	ErrInvalidValue:        "CUDA_ERROR_INVALID_VALUE",
	ErrOutOfMemory:         "CUDA_ERROR_OUT_OF_MEMORY",
	ErrNotInitialized:      "CUDA_ERROR_NOT_INITIALIZED",
	ErrDeinitialized:       "CUDA_ERROR_DEINITIALIZED",
	ErrNoDevice:            "CUDA_ERROR_NO_DEVICE",
	ErrInvalidDevice:       "CUDA_ERROR_INVALID_DEVICE",
	ErrInvalidImage:        "CUDA_ERROR_INVALID_IMAGE",
	ErrInvalidContext:      "CUDA_ERROR_INVALID_CONTEXT",
	ErrNoBinaryForGPU:      "CUDA_ERROR_NO_BINARY_FOR_GPU",
	ErrECCUncorrectable:    "CUDA_ERROR_ECC_UNCORRECTABLE",
	ErrPeerUnsupported:     "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
	ErrInvalidPTX:          "CUDA_ERROR_INVALID_PTX",
	ErrNVLinkUncorrectable: "CUDA_ERROR_NVLINK_UNCORRECTABLE",
	ErrInvalidHandle:       "CUDA_ERROR_INVALID_HANDLE",
	ErrNotFound:            "CUDA_ERROR_NOT_FOUND",
	ErrNotReady:            "CUDA_ERROR_NOT_READY",
	ErrIllegalAddress:      "CUDA_ERROR_ILLEGAL_ADDRESS",
	ErrLaunchResources:     "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
	ErrLaunchTimeout:       "CUDA_ERROR_LAUNCH_TIMEOUT",
	ErrPeerAlreadyEnabled:  "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
	ErrPeerNotEnabled:      "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
	ErrContextDestroyed:    "CUDA_ERROR_CONTEXT_IS_DESTROYED",
	ErrAssert:              "CUDA_ERROR_ASSERT",
	ErrHardwareStack:       "CUDA_ERROR_HARDWARE_STACK_ERROR",
	ErrIllegalInstruction:  "CUDA_ERROR_ILLEGAL_INSTRUCTION",
	ErrMisalignedAddress:   "CUDA_ERROR_MISALIGNED_ADDRESS",
	ErrInvalidAddressSpace: "CUDA_ERROR_INVALID_ADDRESS_SPACE",
	ErrInvalidPC:           "CUDA_ERROR_INVALID_PC",
	ErrLaunchFailed:        "CUDA_ERROR_LAUNCH_FAILED",
	ErrNotPermitted:        "CUDA_ERROR_NOT_PERMITTED",
	ErrNotSupported:        "CUDA_ERROR_NOT_SUPPORTED",
	ErrUnknown:             "CUDA_ERROR_UNKNOWN",
}

// Name is the code's name in the driver API, or "CUDA_ERROR" for one that is
// not in our table (the driver's own name is then in the [Error] around it).
func (c Code) Name() string {
	if n, ok := codeNames[c]; ok {
		return n
	}
	return "CUDA_ERROR"
}

// Error is the name with the number: "CUDA_ERROR_OUT_OF_MEMORY (2)".
func (c Code) Error() string { return fmt.Sprintf("%s (%d)", c.Name(), int32(c)) }

// Sticky reports whether the code says that the context is lost: it will come
// back from every later call, and says nothing about the call that returned it.
func (c Code) Sticky() bool {
	switch c {
	case ErrECCUncorrectable, ErrNVLinkUncorrectable, ErrIllegalAddress, ErrLaunchTimeout,
		ErrAssert, ErrHardwareStack, ErrIllegalInstruction, ErrMisalignedAddress,
		ErrInvalidAddressSpace, ErrInvalidPC, ErrLaunchFailed, ErrUnknown:
		return true
	}
	return false
}

// Error is a call that the runtime refused.
type Error struct {
	Code Code   // what it is matched by
	Name string // as the driver names it
	Call string // the driver's entry point, "cuLaunchKernel"
	Text string // what the driver adds, or what was wrong; may be empty
}

// Error is the call, the name and number, and the text.
func (e *Error) Error() string {
	name := e.Name
	if name == "" {
		name = e.Code.Name()
	}
	s := fmt.Sprintf("cudart: %s: %s (%d)", e.Call, name, int32(e.Code))
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// Unwrap makes errors.Is(err, cudart.ErrOutOfMemory) true.
func (e *Error) Unwrap() error { return e.Code }

// IsSticky reports whether err carries a code that is [Code.Sticky].
func IsSticky(err error) bool {
	var c Code
	return errors.As(err, &c) && c.Sticky()
}
