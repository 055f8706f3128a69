// Command fourstreams shows which streams a copy between two GPUs makes wait.
//
// Two devices, two streams on each, and two CPU threads. Thread 1 runs a kernel on
// gpu1s1, has gpu2s1 fill a buffer and hand it over, copies it from GPU 2 to GPU 1,
// and uses it there. Thread 2 keeps gpu2s2 busy with three kernels, and gives gpu1s2
// work of its own. The copy takes one stream, and two are involved: the library adds
// the waits between gpu2s1 and gpu1s1. Nobody else must wait for anything, and the
// program fails where somebody does.
//
//	go run ./examples/fourstreams           # a timeline, and who waited for whom
//	go run ./examples/fourstreams -json     # the same as data
//
// The scenario itself is in scenario.go; the rest watches it. Kernels write their
// own times, and the copy has two timed events around it (clock.go); the waits are
// what the library tells a device.Trace (trace.go).
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	_ "github.com/gpuactor/gpuactor/cudart/nvidia"
	_ "github.com/gpuactor/gpuactor/cudart/sim"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}
