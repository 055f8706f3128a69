package sim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gpuactor/gpuactor/cudart"
)

// Exploration says how to explore.
type Exploration struct {
	Config Config // of the machine; its Clock is not used
	Most   int    // runs, after which it is given up; 0: 100,000
	All    bool   // every order, also those that differ in nothing: for comparison
}

// Explored is what an exploration did.
type Explored struct {
	Runs     int  // orders that differ, each run to its end
	Cut      int  // runs given up because all that they could still do had been seen
	Steps    int  // of the device and the host, in all
	Complete bool // nothing is left
}

// String is "12 orders explored, 3 cut, 480 steps".
func (e Explored) String() string {
	text := fmt.Sprintf("%d orders explored, %d cut, %d steps", e.Runs, e.Cut, e.Steps)
	if !e.Complete {
		text += ", not complete"
	}
	return text
}

// Found is a run of an exploration that failed.
type Found struct {
	Err      error    // what the program returned
	Schedule Schedule // makes it fail again, on a machine whose clock is Replay of it
	Trace    Trace    // what happened
}

// Error says what failed, and how to see it again.
func (f *Found) Error() string {
	return fmt.Sprintf("sim: %v\nby the schedule '%v' (ParseSchedule and Replay repeat it):\n%v", f.Err, f.Schedule, f.Trace)
}

// Unwrap is what the program returned.
func (f *Found) Unwrap() error { return f.Err }

// errChanges is of a program that does not do the same when it is run again.
var errChanges = errors.New("sim: the program is not the same from run to run, and cannot be explored")

// Explore runs a program in all orders of the device's steps and the host's that
// differ, until one fails: then the error is a [*Found]. The program has one host
// goroutine, is given a fresh machine each time, and does the same each time that it
// sees the same.
//
// Copies and kernels are two steps, one that reads and one that writes; fills and
// frees are one. Of orders that differ only in the places of steps which touch
// nothing in common (bytes, an event asked about, what memory is live) one is
// run. The host's own code is taken to touch all pinned memory whenever it runs. A
// query that was in vain is not made again until the device has made a step, so a
// program that counts its queries is not explored in full.
func Explore(o Exploration, f func(rt cudart.Runtime) error) (Explored, error) {
	if o.Most == 0 {
		o.Most = 100_000
	}
	x := &explorer{all: o.All}
	for x.done.Runs+x.done.Cut < o.Most {
		steps := Replay(Schedule{halves: true})
		steps.explorer = x
		x.start()
		o.Config.Clock = steps
		rt := New(o.Config)
		err := f(rt)
		x.finish(steps)
		err = errors.Join(err, rt.Close())
		if x.changed {
			return x.done, errChanges
		}
		if x.asleep {
			x.done.Cut++
		} else {
			x.done.Runs++
		}
		if err != nil {
			return x.done, &Found{err, steps.Schedule(), steps.Trace()}
		}
		if !x.next() {
			x.done.Complete = true
			break
		}
	}
	return x.done, nil
}

// explorer searches depth first, and runs the program anew for each order. It is
// the algorithm of source sets with sleep sets (Abdulla, Aronis, Jonsson, Sagonas:
// Optimal dynamic partial order reduction, 2014): a second choice is made at a place
// only if a race seen behind it asks for that.
//
// Who can act is numbered: 0 is the host, and 1+n the nth stream.
type explorer struct {
	all   bool
	nodes []node // the run so far: the places of choice
	steps []act  // and what was done there
	done  Explored

	// Of this run.
	last    []int // by actor: its latest step, -1 for none
	asleep  bool  // it can only repeat what was seen: it is run to its end, and not looked at
	over    bool
	changed bool
}

// node is a place of choice.
type node struct {
	enabled []int
	try     []int      // actors to try here
	sleep   []sleeping // actors that need not be
	chosen  int
}

type sleeping struct {
	actor int
	does  footprint
}

// act is a step as it was done.
type act struct {
	actor int
	nth   int // of its actor, from 1
	does  footprint
	clock vclock // what came before it and mattered, with itself
	open  bool   // of the host: what it does is known at its next turn
}

// vclock is by actor how many of its steps.
type vclock []int

func (v *vclock) join(o vclock) {
	for len(*v) < len(o) {
		*v = append(*v, 0)
	}
	for i, n := range o {
		(*v)[i] = max((*v)[i], n)
	}
}

func sorted(a []int) []int {
	a = slices.Clone(a)
	slices.Sort(a)
	return a
}

func (v vclock) has(e *act) bool { return e.actor < len(v) && v[e.actor] >= e.nth }

func (x *explorer) start() {
	x.steps = x.steps[:0]
	x.last = x.last[:0]
	x.asleep, x.over = false, false
}

// finish ends the run.
func (x *explorer) finish(s *Steps) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.settle(false)
	x.over = true
}

// next goes back to the latest place where there is something else to try.
func (x *explorer) next() bool {
	for len(x.nodes) > 0 {
		n := &x.nodes[len(x.nodes)-1]
		if at := len(x.nodes) - 1; at < len(x.steps) {
			n.sleep = append(n.sleep, sleeping{n.chosen, x.steps[at].does})
		}
		for _, a := range n.try {
			if !n.sleeps(a) {
				n.chosen = a
				x.steps = x.steps[:0]
				return true
			}
		}
		x.nodes = x.nodes[:len(x.nodes)-1]
	}
	return false
}

func (n *node) sleeps(actor int) bool {
	return slices.ContainsFunc(n.sleep, func(s sleeping) bool { return s.actor == actor })
}

// choose says which of the enabled actors acts. Minus one is whoever likes.
func (x *explorer) choose(enabled []int) int {
	if x.over || x.asleep {
		return -1
	}
	at := len(x.steps)
	if at < len(x.nodes) {
		n := &x.nodes[at]
		if !slices.Equal(n.enabled, enabled) {
			x.changed, x.asleep = true, true
			return -1
		}
		return n.chosen
	}
	n := node{enabled: slices.Clone(enabled), chosen: -1}
	if at > 0 && !x.all {
		before, did := &x.nodes[at-1], &x.steps[at-1]
		for _, s := range before.sleep {
			if s.actor != did.actor && !s.does.meets(&did.does) {
				n.sleep = append(n.sleep, s)
			}
		}
	}
	for _, a := range enabled {
		if !n.sleeps(a) {
			n.chosen = a
			break
		}
	}
	if n.chosen < 0 {
		x.asleep = true
		return -1
	}
	n.try = []int{n.chosen}
	if x.all {
		n.try = n.enabled
	}
	x.nodes = append(x.nodes, n)
	return n.chosen
}

// did notes a step: what it does, and what it comes after because that made it
// possible.
func (x *explorer) did(actor int, does footprint, after vclock, open bool) (clock vclock) {
	for len(x.last) <= actor {
		x.last = append(x.last, -1)
	}
	e := act{actor: actor, nth: 1, does: does, open: open}
	if i := x.last[actor]; i >= 0 {
		e.nth = x.steps[i].nth + 1
		e.clock.join(x.steps[i].clock)
	}
	e.clock.join(after)
	x.last[actor] = len(x.steps)
	x.steps = append(x.steps, e)
	x.done.Steps++
	if !open {
		x.races(len(x.steps) - 1)
	}
	return x.steps[len(x.steps)-1].clock
}

// settle ends the host's step that is open: its own code ran in it, or not yet.
func (x *explorer) settle(ownCode bool) {
	if len(x.last) == 0 || x.last[0] < 0 {
		return
	}
	i := x.last[0]
	e := &x.steps[i]
	if !e.open {
		return
	}
	e.open = false
	if ownCode {
		e.does.touch(0, hostEnd, true)
	}
	x.races(i)
}

// races finds the steps that e could have come before, orders them before it, and
// sees to it that the other order is tried.
func (x *explorer) races(at int) {
	e := &x.steps[at]
	for i := at - 1; i >= 0; i-- {
		d := &x.steps[i]
		if d.actor == e.actor || e.clock.has(d) || !d.does.meets(&e.does) {
			continue
		}
		if !x.all {
			x.reverse(i, at)
		}
		e.clock.join(d.clock)
	}
	for len(e.clock) <= e.actor {
		e.clock = append(e.clock, 0)
	}
	e.clock[e.actor] = e.nth
}

// reverse has something tried, at the place of step i, that leads to step at coming
// first: one of those that can begin what lies between and does not depend on i.
func (x *explorer) reverse(i, at int) {
	d := &x.steps[i]
	var between []int
	for k := i + 1; k < at; k++ {
		if !x.steps[k].clock.has(d) {
			between = append(between, k)
		}
	}
	between = append(between, at)
	n := &x.nodes[i]
	first := -1
	for j, k := range between {
		e := &x.steps[k]
		begins := !slices.ContainsFunc(between[:j], func(m int) bool {
			return x.steps[m].actor == e.actor || e.clock.has(&x.steps[m])
		})
		if !begins {
			continue
		}
		if slices.Contains(n.try, e.actor) {
			return
		}
		if first < 0 && slices.Contains(n.enabled, e.actor) {
			first = e.actor
		}
	}
	if first >= 0 {
		n.try = append(n.try, first)
		return
	}
	for _, a := range n.enabled { // it waited for more than is known
		if !slices.Contains(n.try, a) {
			n.try = append(n.try, a)
		}
	}
}
