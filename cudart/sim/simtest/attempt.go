package simtest

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/gpuactor/gpuactor/cudart/sim"
)

// attempt is a testing.TB for one run, whose failure is not yet the test's.
type attempt struct {
	testing.TB // the test's: for its name, directories and environment
	clock      *sim.Steps

	mu      sync.Mutex
	lines   []string
	failed  bool
	skipped bool
	cleanup []func()
}

// run runs f on a goroutine, which FailNow may end, and behind it, on the same thread,
// what it left for Cleanup. The thread is locked and ends too, whatever was current.
func (a *attempt) run(f func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(done)
		defer a.cleanUp()
		a.do(f)
	}()
	<-done
}

// cleanUp runs what was left for it, last first, however each of them ends.
func (a *attempt) cleanUp() {
	a.mu.Lock()
	n := len(a.cleanup)
	if n == 0 {
		a.mu.Unlock()
		return
	}
	last := a.cleanup[n-1]
	a.cleanup = a.cleanup[:n-1]
	a.mu.Unlock()
	defer a.cleanUp()
	a.do(last)
}

// do calls f, and makes a failure of every end but its return, and what FailNow and
// SkipNow are.
func (a *attempt) do(f func()) {
	returned := false
	defer func() {
		switch p := recover(); {
		case p != nil:
			a.Errorf("panic: %v\n%s", p, debug.Stack())
		case !returned && !a.Failed() && !a.Skipped():
			a.Errorf("simtest: runtime.Goexit was called, or FailNow of another test than the seed's")
		}
	}()
	f()
	returned = true
}

// report makes what happened the test's.
func (a *attempt) report(t *testing.T) {
	t.Helper()
	if a.Failed() {
		t.Errorf("%s\n%v", a.text(), a.clock.Trace())
	}
}

func (a *attempt) text() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.lines, "\n")
}

func (a *attempt) say(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, strings.TrimSuffix(text, "\n"))
}

func (a *attempt) Fail() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = true
}

func (a *attempt) Failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

func (a *attempt) Skipped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.skipped
}

func (a *attempt) Cleanup(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cleanup = append(a.cleanup, f)
}

func (a *attempt) FailNow() { a.Fail(); runtime.Goexit() }
func (a *attempt) SkipNow() {
	a.mu.Lock()
	a.skipped = true
	a.mu.Unlock()
	runtime.Goexit()
}

func (a *attempt) Helper()                           {}
func (a *attempt) Log(args ...any)                   { a.say(fmt.Sprintln(args...)) }
func (a *attempt) Logf(format string, args ...any)   { a.say(fmt.Sprintf(format, args...)) }
func (a *attempt) Error(args ...any)                 { a.Log(args...); a.Fail() }
func (a *attempt) Errorf(format string, args ...any) { a.Logf(format, args...); a.Fail() }
func (a *attempt) Fatal(args ...any)                 { a.Log(args...); a.FailNow() }
func (a *attempt) Fatalf(format string, args ...any) { a.Logf(format, args...); a.FailNow() }
func (a *attempt) Skip(args ...any)                  { a.Log(args...); a.SkipNow() }
func (a *attempt) Skipf(format string, args ...any)  { a.Logf(format, args...); a.SkipNow() }
