package device

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
)

// Debug reports whether GPUACTOR_DEBUG=1 was set when the process started: places
// in the program are recorded then.
var Debug = os.Getenv("GPUACTOR_DEBUG") == "1"

// Site is the place in the program that called into this module: the first one
// outside the packages that own and move memory.
func Site() string {
	var pcs stack
	n := runtime.Callers(2, pcs[:])
	sites.Lock()
	defer sites.Unlock()
	at, ok := sites.of[pcs]
	if !ok {
		if len(sites.of) >= sitesKept {
			clear(sites.of)
		}
		at = siteOf(pcs[:n])
		sites.of[pcs] = at
	}
	return at
}

// stack is where the program is: return addresses, the innermost first.
type stack [16]uintptr

// sites are the places that were asked for already: to find one in the program's tables
// takes several times as long.
var sites = struct {
	sync.Mutex
	of map[stack]string
}{of: map[stack]string{}}

const sitesKept = 4096

func siteOf(pcs []uintptr) string {
	frames := runtime.CallersFrames(pcs)
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
