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
	ErrInvalidValue        Code = 1
	ErrOutOfMemory         Code = 2
	ErrNotInitialized      Code = 3
	ErrDeinitialized       Code = 4
	ErrNoDevice            Code = 100
	ErrInvalidDevice       Code = 101
	ErrInvalidImage        Code = 200
	ErrInvalidContext      Code = 201
	ErrNoBinaryForGPU      Code = 209
	ErrECCUncorrectable    Code = 214
	ErrPeerUnsupported     Code = 217
	ErrInvalidPTX          Code = 218
	ErrNVLinkUncorrectable Code = 220
	ErrInvalidHandle       Code = 400
	ErrNotFound            Code = 500
	ErrNotReady            Code = 600
	ErrIllegalAddress      Code = 700
	ErrLaunchResources     Code = 701
	ErrLaunchTimeout       Code = 702
	ErrPeerAlreadyEnabled  Code = 704
	ErrPeerNotEnabled      Code = 705
	ErrContextDestroyed    Code = 709
	ErrAssert              Code = 710
	ErrHardwareStack       Code = 714
	ErrIllegalInstruction  Code = 715
	ErrMisalignedAddress   Code = 716
	ErrInvalidAddressSpace Code = 717
	ErrInvalidPC           Code = 718
	ErrLaunchFailed        Code = 719
	ErrNotPermitted        Code = 800
	ErrNotSupported        Code = 801
	ErrUnknown             Code = 999
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
	Code Code
	Name string // as the driver names it
	Call string // the driver's entry point, "cuLaunchKernel"
	Text string // what the driver adds, or what was wrong; may be empty
}

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
