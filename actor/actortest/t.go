package actortest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
)

// run is one run of a [Func].
type run struct {
	outer   testing.TB
	mu      sync.Mutex
	out     *Outcome
	helpers map[string]bool // functions that call Helper
	cleanup []func()
	ctx     context.Context
}

// call has f run until it returns, or ends in another way.
func (r *run) call(f Func, sys *actor.System) {
	ctx, cancel := context.WithCancel(context.Background())
	r.ctx = ctx
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer r.cleanUp()
		defer cancel()
		r.survive(func() { f(&tb{TB: r.outer, r: r}, sys) })
	}()
	<-done
}

// cleanUp calls the functions of Cleanup, the last one first.
func (r *run) cleanUp() {
	r.mu.Lock()
	n := len(r.cleanup)
	if n == 0 {
		r.mu.Unlock()
		return
	}
	f := r.cleanup[n-1]
	r.cleanup = r.cleanup[:n-1]
	r.mu.Unlock()
	defer r.cleanUp()
	r.survive(f)
}

// survive calls f, and makes a failure of every end but its return, and what FailNow and
// SkipNow are.
func (r *run) survive(f func()) {
	returned := false
	defer func() {
		switch v := recover(); {
		case v != nil:
			r.fail(fmt.Sprintf("panic: %v\n%s", v, debug.Stack()))
		case !returned && !r.ended():
			r.fail("actortest: runtime.Goexit was called, or FailNow of another test than the seed's")
		}
	}()
	f()
	returned = true
}

// ended reports whether FailNow or SkipNow may have ended the test.
func (r *run) ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.failed || r.out.skipped != ""
}

func (r *run) fail(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Failures = append(r.out.Failures, text)
	r.out.failed = true
}

func (r *run) log(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Log = append(r.out.Log, text)
}

// Write is for what the system logs.
func (r *run) Write(b []byte) (int, error) {
	r.log(strings.TrimSuffix(string(b), "\n"))
	return len(b), nil
}

// at says where in the program the test is told something.
func (r *run) at() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		f, more := frames.Next()
		if !r.helpers[f.Function] || !more {
			return fmt.Sprintf("%s:%d: ", filepath.Base(f.File), f.Line)
		}
	}
}

// tb is a run as its function sees it: what it says is kept, and does not become the
// test's before it is known what the seed is good for.
type tb struct {
	testing.TB // the test's own
	r          *run
}

func (t *tb) Error(args ...any)            { t.r.fail(t.r.at() + line(args)) }
func (t *tb) Errorf(f string, args ...any) { t.r.fail(t.r.at() + fmt.Sprintf(f, args...)) }
func (t *tb) Log(args ...any)              { t.r.log(t.r.at() + line(args)) }
func (t *tb) Logf(f string, args ...any)   { t.r.log(t.r.at() + fmt.Sprintf(f, args...)) }
func (t *tb) Output() io.Writer            { return t.r }
func (t *tb) FailNow()                     { t.Fail(); runtime.Goexit() }
func (t *tb) Context() context.Context     { return t.r.ctx }

func (t *tb) Fatal(args ...any) {
	t.r.fail(t.r.at() + line(args))
	runtime.Goexit()
}

func (t *tb) Fatalf(f string, args ...any) {
	t.r.fail(t.r.at() + fmt.Sprintf(f, args...))
	runtime.Goexit()
}

func (t *tb) Skip(args ...any)            { t.skip(line(args)) }
func (t *tb) Skipf(f string, args ...any) { t.skip(fmt.Sprintf(f, args...)) }
func (t *tb) SkipNow()                    { t.skip("skipped") }

func (t *tb) skip(why string) {
	t.r.mu.Lock()
	t.r.out.skipped = cmp.Or(why, "skipped")
	t.r.mu.Unlock()
	runtime.Goexit()
}

func (t *tb) Skipped() bool {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	return t.r.out.skipped != ""
}

func (t *tb) Fail() {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	t.r.out.failed = true
}

func (t *tb) Failed() bool {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	return t.r.out.failed
}

func (t *tb) Cleanup(f func()) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	t.r.cleanup = append(t.r.cleanup, f)
}

func (t *tb) Helper() {
	var pcs [1]uintptr
	runtime.Callers(2, pcs[:])
	f, _ := runtime.CallersFrames(pcs[:]).Next()
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	if t.r.helpers == nil {
		t.r.helpers = map[string]bool{}
	}
	t.r.helpers[f.Function] = true
}

func line(args []any) string { return strings.TrimSuffix(fmt.Sprintln(args...), "\n") }
