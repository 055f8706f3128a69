package sim

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
)

// Fault is a rule by which something goes wrong: a [CallFault], [LinkFault],
// [PeerFault], [KernelFault], [MemoryFault] or [DeviceFault].
type Fault interface {
	// check says what is wrong with the rule on a machine of some devices.
	check(devices int) error
}

// Any stands for every device in a rule, and for the host as an end of a link. Host
// stands for the host.
const (
	Host = -1
	Any  = -2
)

// Rule is a fault in force. Its methods may be called from any goroutine.
type Rule struct {
	fault Fault
	sim   *simulator

	mu   sync.Mutex
	seen int // happenings that the rule is about
	hits int // those that it acted on
}

// Inject puts a fault in force on a simulated machine that is running, or that
// something with a method Unwrap() cudart.Runtime is around. It acts on what happens
// from now on, behind the faults that are there. Any other runtime, or a fault that
// names what the machine has not got, panics.
func Inject(rt cudart.Runtime, f Fault) *Rule {
	r := simulatorIn(rt)
	x := r.newRule(f)
	r.change(func(rules []*Rule) []*Rule { return append(rules, x) })
	return x
}

// Rules are the faults in force: those of Config.Faults, in their order, then what
// was injected.
func Rules(rt cudart.Runtime) []*Rule {
	f := simulatorIn(rt).faults.Load()
	if f == nil {
		return nil
	}
	return slices.Clone(f.rules)
}

// Fault is what the rule was made from.
func (x *Rule) Fault() Fault { return x.fault }

// Hits is how often the rule has acted.
func (x *Rule) Hits() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.hits
}

// Lift ends the rule. What it has done stays: a lost machine is lost, and what it
// keeps from ending does not end. A second Lift does nothing.
func (x *Rule) Lift() {
	x.sim.change(func(rules []*Rule) []*Rule {
		return slices.DeleteFunc(rules, func(r *Rule) bool { return r == x })
	})
}

// acts counts a happening. It is the happening's number where the rule acts on it,
// and zero where it does not.
func (x *Rule) acts(w When) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seen++
	if !w.acts(x.seen, x.hits) {
		return 0
	}
	x.hits++
	return x.seen
}

// faults are the rules in force. A set never changes; another one takes its place.
type faults struct{ rules []*Rule }

// faulty is what the simulator has for them.
type faulty struct {
	faults   atomic.Pointer[faults] // nil where there are none
	faultsMu sync.Mutex             // guards its being replaced
	never    progress               // holds the streams whose command does not end
	over     chan struct{}          // closed when the machine is lost
}

func (r *simulator) startFaults(faults []Fault) {
	r.never.init()
	r.over = make(chan struct{})
	for _, f := range faults {
		Inject(r, f)
	}
}

// change replaces the set. None is nil, which is what costs nothing.
func (r *simulator) change(edit func([]*Rule) []*Rule) {
	r.faultsMu.Lock()
	defer r.faultsMu.Unlock()
	var rules []*Rule
	if f := r.faults.Load(); f != nil {
		rules = slices.Clone(f.rules)
	}
	if rules = edit(rules); len(rules) == 0 {
		r.faults.Store(nil)
		return
	}
	r.faults.Store(&faults{rules})
}

func (r *simulator) newRule(f Fault) *Rule {
	if f == nil {
		panic("sim: a fault that is nil")
	}
	if err := f.check(len(r.devices)); err != nil {
		panic(fmt.Sprintf("sim: %+v: %v", f, err))
	}
	return &Rule{fault: f, sim: r}
}

func simulatorIn(rt cudart.Runtime) *simulator {
	for at := rt; ; {
		switch x := at.(type) {
		case *simulator:
			return x
		case interface{ Unwrap() cudart.Runtime }:
			at = x.Unwrap()
		default:
			panic(fmt.Sprintf("sim: %T is not a simulated machine", rt))
		}
	}
}

// each calls f for the rules of one kind, in their order.
func each[F Fault](s *faults, f func(*Rule, F)) {
	for _, x := range s.rules {
		if fault, ok := x.fault.(F); ok {
			f(x, fault)
		}
	}
}

func checkDevice(d, devices int, others ...int) error {
	if d >= 0 && d < devices || slices.Contains(others, d) {
		return nil
	}
	return fmt.Errorf("device %d of %d", d, devices)
}
