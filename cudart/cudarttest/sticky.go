package cudarttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// A fault of a kernel loses the process's contexts for good, so these checks run
// the test binary once more, as a child that runs only them.
var stickyChecks = []check{
	{"illegal address", inChild(func(q *queue) {
		q.launch("fill32", 1, out(0x40, 4), u32(1), u32(1))
	}, cudart.ErrIllegalAddress)},
	{"trap", inChild(func(q *queue) {
		q.launch("fault", 1)
	})},
}

const (
	// stickyChild in the environment says that this is the child.
	stickyChild = "CUDARTTEST_STICKY_CHILD"
	// stickySeen is the child's exit status where all was as it should be: not
	// 0, which a child that ran no check at all has too.
	stickySeen = 42
)

// inChild makes the check of a fault, which has one of the codes (any that is
// sticky, where there are none).
func inChild(fault func(q *queue), codes ...cudart.Code) func(f *fixture) {
	return func(f *fixture) {
		if os.Getenv(stickyChild) != "" {
			os.Exit(f.lose(fault, codes))
		}
		if testing.Short() {
			f.Skip("runs a child process")
		}
		f.child()
	}
}

// again is what the testing package adds to a name that was there before, as
// with -count; the child runs the check once.
var again = regexp.MustCompile(`#\d+$`)

// only is the pattern that selects one test.
func only(name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(again.ReplaceAllString(part, ""))+"$")
	}
	return strings.Join(parts, "/")
}

// child runs this check, and nothing else, in a process of its own.
func (f *fixture) child() {
	self, err := os.Executable()
	f.ok(err, "finding the test binary")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "-test.run="+only(f.Name()), "-test.timeout=50s")
	cmd.Env = append(os.Environ(), stickyChild+"=1")
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != stickySeen {
		f.Fatalf("the child ended with %v and said:\n%s", err, text)
	}
	f.Logf("%s", text)
}

// lose submits the fault and looks at what every call says then. It returns the
// process's exit status: nothing can be cleaned up any more.
func (f *fixture) lose(fault func(q *queue), codes []cudart.Code) int {
	q, waiter, e := f.queue(f.main), f.queue(f.main), f.event(f.main)
	pool := f.pool(f.main)
	status := stickySeen
	wrong := func(format string, args ...any) {
		fmt.Printf("sticky: "+format+"\n", args...)
		status = 1
	}

	fault(q)
	q.record(e)
	if _, err := q.try(); err != nil && !cudart.IsSticky(err) {
		wrong("the fault was refused: %v", err)
	}
	waiter.wait(e)
	if _, err := waiter.try(); err != nil && !cudart.IsSticky(err) {
		wrong("the wait was refused: %v", err)
	}

	first := f.rt.SynchronizeStream(f.main.ctx, q.stream)
	if !cudart.IsSticky(first) {
		wrong("SynchronizeStream says %v", first)
		return status
	}
	var code cudart.Code
	errors.As(first, &code)
	fmt.Printf("sticky: lost by %v\n", first)
	if len(codes) > 0 && code != codes[0] {
		wrong("that is not %v", codes[0])
	}

	calls := []struct {
		name string
		call func() error
	}{
		{"SynchronizeStream", func() error { return f.rt.SynchronizeStream(f.main.ctx, q.stream) }},
		{"SynchronizeStream of one that waits", func() error { return f.rt.SynchronizeStream(f.main.ctx, waiter.stream) }},
		{"SynchronizeContext", func() error { return f.rt.SynchronizeContext(f.main.ctx) }},
		{"QueryEvent", func() error { _, err := f.rt.QueryEvent(e); return err }},
		{"Alloc", func() error { _, err := f.rt.Alloc(f.main.ctx, pool, 4, q.stream); return err }},
		{"Submit", func() error {
			q.list.Reset()
			q.launch("idle", 1)
			_, err := f.rt.Submit(f.main.ctx, q.stream, q.list)
			return err
		}},
		{"SynchronizeContext of another context", func() error {
			if err := f.rt.SetCurrent(f.twin.ctx); err != nil {
				return err
			}
			err := f.rt.SynchronizeContext(f.twin.ctx)
			_ = f.rt.SetCurrent(f.main.ctx)
			return err
		}},
	}
	for range 2 { // it stays so
		for _, c := range calls {
			if err := c.call(); !errors.Is(err, code) {
				wrong("%s says %v, want %v", c.name, err, code)
			}
		}
	}
	return status
}
