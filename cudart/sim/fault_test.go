package sim

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

// siteOf is the place that a fault of f is said to be at.
func siteOf(f func()) string {
	site := make(chan string, 1)
	go func() {
		defer func() {
			site <- faultSite()
			_ = recover()
		}()
		f()
	}()
	return <-site
}

// here is the line that calls it.
func here() string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", file, line)
}

// A fault is at the kernel's own line, whatever it was that raised it there.
func TestTheLineOfAFault(t *testing.T) {
	var at string
	var none []int
	var nowhere *int
	for name, f := range map[string]func(){
		"panic":          func() { at = here(); panic("as told") },
		"out of range":   func() { at = here(); none[len(none)] = 1 },
		"nil pointer":    func() { at = here(); *nowhere = 1 },
		"Goexit":         func() { at = here(); runtime.Goexit() },
		"deeper":         func() { func() { at = here(); panic("as told") }() },
		"raised again":   func() { defer func() { p := recover(); at = here(); panic(p) }(); panic("as told") },
		"no argument":    func() { at = here(); new(cudart.KernelCall).Bytes(0) },
		"a view of none": func() { at = here(); cudart.View[uint32](new(cudart.KernelCall), 0) },
	} {
		if got := siteOf(f); got != at {
			t.Errorf("%s: at %s, want %s", name, got, at)
		}
	}
}
