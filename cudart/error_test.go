package cudart_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{cudart.ErrOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY (2)"},
		{cudart.Code(12345), "CUDA_ERROR (12345)"},
		{&cudart.Error{Code: cudart.ErrOutOfMemory, Call: "cuMemAlloc"}, "cudart: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)"},
		{&cudart.Error{Code: 12345, Name: "CUDA_ERROR_NEW", Call: "cuNew"}, "cudart: cuNew: CUDA_ERROR_NEW (12345)"},
		{&cudart.Error{Code: cudart.ErrInvalidPTX, Call: "cuModuleLoadDataEx", Text: "line 3"}, "cudart: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218): line 3"},
		{&cudart.VersionError{Entry: "cuMemPoolCreate", Needs: 11020, Driver: 10010},
			"cudart: the driver lacks cuMemPoolCreate (it came with CUDA 11.2; the driver is for CUDA 10.1): a newer driver is needed"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestErrorIs(t *testing.T) {
	err := fmt.Errorf("buffer 7: %w", &cudart.Error{Code: cudart.ErrOutOfMemory, Call: "cuMemAlloc"})
	if !errors.Is(err, cudart.ErrOutOfMemory) {
		t.Errorf("%v is not ErrOutOfMemory", err)
	}
	if errors.Is(err, cudart.ErrInvalidValue) {
		t.Errorf("%v is ErrInvalidValue", err)
	}
	var e *cudart.Error
	if !errors.As(err, &e) || e.Call != "cuMemAlloc" {
		t.Errorf("%v is no *Error", err)
	}
	var code cudart.Code
	if !errors.As(err, &code) || code != cudart.ErrOutOfMemory {
		t.Errorf("%v has no code", err)
	}
}

// codes are all that have a name, and whether each means that the context is
// lost.
var codes = map[cudart.Code]bool{
	cudart.ErrInvalidValue: false, cudart.ErrOutOfMemory: false, cudart.ErrNotInitialized: false,
	cudart.ErrDeinitialized: false, cudart.ErrNoDevice: false, cudart.ErrInvalidDevice: false,
	cudart.ErrInvalidImage: false, cudart.ErrInvalidContext: false, cudart.ErrNoBinaryForGPU: false,
	cudart.ErrPeerUnsupported: false, cudart.ErrInvalidPTX: false, cudart.ErrInvalidHandle: false,
	cudart.ErrNotFound: false, cudart.ErrNotReady: false, cudart.ErrLaunchResources: false,
	cudart.ErrPeerAlreadyEnabled: false, cudart.ErrPeerNotEnabled: false, cudart.ErrContextDestroyed: false,
	cudart.ErrNotPermitted: false, cudart.ErrNotSupported: false,

	cudart.ErrECCUncorrectable: true, cudart.ErrNVLinkUncorrectable: true, cudart.ErrIllegalAddress: true,
	cudart.ErrLaunchTimeout: true, cudart.ErrAssert: true, cudart.ErrHardwareStack: true,
	cudart.ErrIllegalInstruction: true, cudart.ErrMisalignedAddress: true, cudart.ErrInvalidAddressSpace: true,
	cudart.ErrInvalidPC: true, cudart.ErrLaunchFailed: true, cudart.ErrUnknown: true,
}

func TestCodes(t *testing.T) {
	names := map[string]bool{}
	for c, sticky := range codes {
		if c.Sticky() != sticky {
			t.Errorf("%v: Sticky is %v", c, c.Sticky())
		}
		if c.Name() == "CUDA_ERROR" {
			t.Errorf("%d has no name", c)
		}
		names[c.Name()] = true
	}
	if len(names) != len(codes) {
		t.Errorf("%d names for %d codes", len(names), len(codes))
	}
}

func TestIsSticky(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("other"), false},
		{&cudart.Error{Code: cudart.ErrInvalidValue}, false},
		{cudart.ErrIllegalAddress, true},
		{fmt.Errorf("while waiting: %w", &cudart.Error{Code: cudart.ErrLaunchFailed}), true},
	} {
		if got := cudart.IsSticky(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
