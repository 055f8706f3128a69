package check

import (
	"sync"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check/internal/order"
)

// Env is the environment variable by which package actor puts a checker around the
// runtime of a program: GPUACTOR_CHECK=race.
const Env = "GPUACTOR_CHECK"

// Value is what [Env] is set to.
const Value = "race"

// kept is how many reports [Checker.Reports] has at most.
const kept = 1024

// Options of a [Checker].
type Options struct {
	// Report is told of each report, on the thread whose call brought it about, when
	// that call has been made and before it returns. It may use the runtime.
	Report func(*Report)
	// Site is the place in the program of what the host does now; nil: places are not
	// known. It is asked for calls, and for commands of a stream for which nobody calls
	// [Checker.NameCommands].
	Site func() string
	// History is how many accesses of a kind (reads, writes) by one stream to the same
	// bytes are remembered until the host knows them complete; 0 is 64. A race with an
	// older one is seen, and reported as one with those.
	History int
}

// Checker is a runtime that checks what it is asked to do, and has another one do it.
// Its methods may be called by any thread, as those of the other one.
type Checker struct {
	cudart.Runtime
	o Options

	mu        sync.Mutex // held over the runtime's calls, but those that wait for work
	e         *order.Engine
	contexts  map[cudart.Context]*context
	streams   map[cudart.Stream]*stream
	events    map[cudart.Event]*order.Event
	destroyed []oldEvent
	functions map[cudart.Function]function
	primaries map[int]cudart.Context // by device
	space     space
	accesses  []order.Access // of the command in hand
	found     []*Report      // not told yet
	reports   []*Report      // the first ones
	count     int
	kernels   kernels
}

// New is a checker around a runtime, of which nothing has been asked yet: what was made
// without the checker is not known to it.
func New(rt cudart.Runtime, o Options) *Checker {
	c := &Checker{
		Runtime: rt, o: o,
		contexts:  map[cudart.Context]*context{},
		streams:   map[cudart.Stream]*stream{},
		events:    map[cudart.Event]*order.Event{},
		functions: map[cudart.Function]function{},
		primaries: map[int]cudart.Context{},
	}
	c.e = order.New(order.Options{History: o.History, Report: func(r order.Report) {
		c.found = append(c.found, reportOf(r))
	}})
	if a, ok := rt.(cudart.KernelAuditor); ok {
		a.AuditKernels(c.kernels.add)
	}
	return c
}

// Unwrap is the runtime below.
func (c *Checker) Unwrap() cudart.Runtime { return c.Runtime }

// Reports are the first 1024 reports, in the order in which they were found.
func (c *Checker) Reports() []*Report {
	c.tell()
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*Report(nil), c.reports...)
}

// Count is how many reports there have been.
func (c *Checker) Count() int {
	c.tell()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// tell tells what was found since the last call, as by a kernel that ran in a wait.
func (c *Checker) tell() {
	c.mu.Lock()
	c.unlock()
}

// unlock lets go of the lock, and tells what was found under it.
func (c *Checker) unlock() {
	found := append(c.found, c.kernels.take(c)...)
	c.found = nil
	c.count += len(found)
	c.reports = append(c.reports, found[:min(len(found), kept-len(c.reports))]...)
	c.mu.Unlock()
	if c.o.Report != nil {
		for _, r := range found {
			c.o.Report(r)
		}
	}
}

// note is what is known of what the host does now.
func (c *Checker) note(op string) order.Note {
	n := order.Note{Op: op}
	if c.o.Site != nil {
		n.Site = c.o.Site()
	}
	return n
}

// Test is what [To] needs of a testing.TB.
type Test interface {
	Helper()
	Errorf(format string, args ...any)
}

// To has a test fail on each report. The test must not end before what it checks.
func To(t Test) func(*Report) {
	return func(r *Report) {
		t.Helper()
		t.Errorf("%v", r)
	}
}
