package device

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Debug reports whether GPUACTOR_DEBUG=1 was set when the process started: places
// in the program are recorded then.
var Debug = os.Getenv("GPUACTOR_DEBUG") == "1"

// Site is the place in the program that called into this module: the first one
// outside the packages that own and move memory.
func Site() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !ours(f.Function) || strings.HasSuffix(f.File, "_test.go") || !more {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
	}
}

func ours(function string) bool {
	for _, p := range [...]string{"/buffer.", "/actor.", "/transfer.", "/device.", "/cudart/check."} {
		if strings.Contains(function, "gpuactor"+p) {
			return true
		}
	}
	return false
}
