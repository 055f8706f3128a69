package device

import (
	"errors"

	"github.com/gpuactor/gpuactor/cudart"
)

// FaultedError is what comes of closing a device whose GPU has faulted: the fault
// arrives at every call, and is said once.
type FaultedError struct {
	Fault error // as the first call met it; carries a sticky [cudart.Code]
	Calls int   // how many met it
}

// Error says what the fault was, and what it means for the process.
func (e *FaultedError) Error() string {
	return "the GPU faulted earlier: " + e.Fault.Error() + "; what the device held could not be freed: restart the process"
}

// Unwrap is the fault.
func (e *FaultedError) Unwrap() error { return e.Fault }

// once is err with the fault that came back from call after call said once, in front
// of what else there is.
func once(err error) error {
	var fault *FaultedError
	var others []error
	for _, e := range leaves(err) {
		switch {
		case !cudart.IsSticky(e):
			others = append(others, e)
		case fault == nil:
			fault = &FaultedError{Fault: e, Calls: 1}
		default:
			fault.Calls++
		}
	}
	if fault == nil {
		return err
	}
	return errors.Join(append([]error{fault}, others...)...)
}

// leaves are the errors that were joined into err.
func leaves(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if err == nil {
			return nil
		}
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, leaves(e)...)
	}
	return all
}
