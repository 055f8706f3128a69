package actortest

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpuactor/gpuactor/cudart/sim"
)

// Outcome is what came of a run.
type Outcome struct {
	Seed     uint64
	Failures []string // what the test was told, the race checker reported, and so on
	Log      []string
	Turns    int      // of actors, and questions to the GPU
	Hash     uint64   // of everything that happened, in order
	Schedule Schedule // what was chosen

	failed  bool
	skipped string
	notes   notes
	device  sim.Trace
}

// Failed reports whether the run failed.
func (o *Outcome) Failed() bool { return o.failed }

// String is the failures, a line or more for each, and what was logged.
func (o *Outcome) String() string {
	if !o.failed {
		return fmt.Sprintf("seed %d passes", o.Seed)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d fails:", o.Seed)
	for _, f := range o.Failures {
		fmt.Fprintf(&b, "\n  %s", indent(f))
	}
	for _, l := range o.Log {
		fmt.Fprintf(&b, "\n  log: %s", indent(l))
	}
	return b.String()
}

func indent(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }

// finish takes over what is known when the run has ended.
func (o *Outcome) finish(k *conductor, clock *sim.Steps) {
	o.device = clock.Trace()
	o.notes = k.notes
	o.Turns = k.notes.turns
	o.Hash = mix(k.notes.hash, o.device.Hash)
	o.Schedule = k.made
	o.Schedule.set = true
	o.Schedule.device = clock.Schedule()
}

func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// trace is what happened, where that was noted.
func (o *Outcome) trace() string { return strings.Join(o.notes.lines, "\n") }

// notes are what a conductor notes.
type notes struct {
	turns int
	hash  uint64
	lines []string // where it is verbose
	steps int      // of the device, that are among lines
}

// most is how many lines are noted.
const most = 20000

// note notes a move that was made.
func (k *conductor) note(m *move) {
	n := &k.notes
	n.turns++
	n.hash = mix(n.hash, m.id()<<8+uint64(len(k.busy)))
	if !k.verbose || len(n.lines) > most {
		return
	}
	for _, s := range k.clock.Trace().Steps[n.steps:] {
		n.lines = append(n.lines, "  "+s.String())
		n.steps++
	}
	if m.actor == nil {
		return // the device's steps say it
	}
	text := fmt.Sprintf("%s runs, and %s", m.actor.Name(), m.actor.Waits(&k.names))
	for _, b := range k.busy {
		text += fmt.Sprintf(" (%s seems to be busy)", b.Name())
	}
	n.lines = append(n.lines, text)
}

// passed notes that time has passed.
func (k *conductor) passed(d time.Duration) {
	if d == 0 {
		return // how often the conductor is woken for nothing is no part of the order
	}
	k.notes.hash = mix(k.notes.hash, uint64(d))
	if !k.verbose {
		return
	}
	text := fmt.Sprintf("%v pass", d)
	if d >= forever {
		text = "nothing can happen any more, and all actors are stopped"
	}
	k.notes.lines = append(k.notes.lines, text)
}
