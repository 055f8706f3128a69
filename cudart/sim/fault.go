package sim

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/gpuactor/gpuactor/cudart"
)

// loss is why nothing works any more: a fault of the device, or Close. On
// hardware a fault takes every context of the process with it, so here every
// context of the machine.
type loss struct {
	code cudart.Code
	text string
}

// at is the loss as the call that meets it returns it.
func (l *loss) at(call string) error {
	return &cudart.Error{Code: l.code, Name: l.code.Name(), Call: call, Text: l.text}
}

// lose makes the machine unusable, once, and wakes everybody who waits for
// something that will not happen now (I6).
func (r *simulator) lose(l *loss) {
	if !r.lost.CompareAndSwap(nil, l) {
		return
	}
	close(r.over)
	r.never.wake(r.exec, true)
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.streams {
		s.progress.wake(r.exec, true)
	}
}

func refuse(code cudart.Code, call, format string, args ...any) error {
	return &cudart.Error{Code: code, Name: code.Name(), Call: call, Text: fmt.Sprintf(format, args...)}
}

// faultSite is the line of a kernel at which it panicked or called Goexit, for a
// function that it deferred: what ended it is above that line on the stack still.
func faultSite() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	ended := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic" || f.Function == "runtime.Goexit":
			ended = true
		case ended && ofKernel(f.Function):
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		if !more {
			return "a place unknown"
		}
	}
}

// ofKernel reports whether a function is the kernel's own: not what raised its panic
// on its behalf.
func ofKernel(function string) bool {
	for _, p := range [...]string{"runtime.", seam + ".", seam + "/sim.(*resolver)."} {
		if strings.HasPrefix(function, p) {
			return false
		}
	}
	return true
}

const seam = "github.com/gpuactor/gpuactor/cudart"

// faultOf is the loss that a kernel's panic at a place means.
func faultOf(kernel string, panicked any, at string) *loss {
	at = " (at " + at + ")"
	switch p := panicked.(type) {
	case cudart.Fault:
		return &loss{cudart.ErrIllegalAddress, "kernel " + kernel + ": " + p.Text + at}
	case *cudart.Fault:
		return &loss{cudart.ErrIllegalAddress, "kernel " + kernel + ": " + p.Text + at}
	case nil:
		return &loss{cudart.ErrLaunchFailed, "kernel " + kernel + " called runtime.Goexit" + at}
	default:
		return &loss{cudart.ErrLaunchFailed, fmt.Sprintf("kernel %s panicked: %v%s", kernel, p, at)}
	}
}
