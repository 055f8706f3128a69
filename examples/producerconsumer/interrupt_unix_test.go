//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// An interrupt that comes twice at once is one: the second must not end the process
// before the report is out.
func TestAnInterruptComesTwice(t *testing.T) {
	ctx := untilInterrupt()
	interrupt := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	interrupt()
	<-ctx.Done()
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); runtime.Gosched() {
		interrupt() // kills the test where nobody listens any more
	}
}
