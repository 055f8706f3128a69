package sim

import (
	"fmt"

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
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.streams {
		s.progress.wake(r.exec, true)
	}
}

func refuse(code cudart.Code, call, format string, args ...any) error {
	return &cudart.Error{Code: code, Name: code.Name(), Call: call, Text: fmt.Sprintf(format, args...)}
}

// faultOf is the loss that a kernel's panic means.
func faultOf(kernel string, panicked any) *loss {
	switch p := panicked.(type) {
	case cudart.Fault:
		return &loss{cudart.ErrIllegalAddress, "kernel " + kernel + ": " + p.Text}
	case *cudart.Fault:
		return &loss{cudart.ErrIllegalAddress, "kernel " + kernel + ": " + p.Text}
	case nil:
		return &loss{cudart.ErrLaunchFailed, "kernel " + kernel + " called runtime.Goexit"}
	default:
		return &loss{cudart.ErrLaunchFailed, fmt.Sprintf("kernel %s panicked: %v", kernel, p)}
	}
}
