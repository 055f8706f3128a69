package sim

import (
	"fmt"
	"strings"

	"github.com/gpuactor/gpuactor/cudart"
)

// Step is one step that a clock let happen.
type Step struct {
	Stream    int       // by the order in which streams were made, from 0
	Command   uint64    // its number in the stream, from 1
	Op        cudart.Op // what it is
	Piece, Of int       // which part of the command, from 0
}

// String is "stream 2: copy to host (command 7), piece 1 of 3".
func (s Step) String() string {
	text := fmt.Sprintf("stream %d: %v (command %d)", s.Stream, s.Op, s.Command)
	if s.Of > 1 {
		text += fmt.Sprintf(", piece %d of %d", s.Piece+1, s.Of)
	}
	return text
}

// Trace is what happened, in order: the first 65,536 steps, and a hash of all.
type Trace struct {
	Steps []Step
	Total int
	Hash  uint64
}

const traceMost = 1 << 16

func (t *Trace) add(s Step) {
	if len(t.Steps) < traceMost {
		t.Steps = append(t.Steps, s)
	}
	t.Total++
	for _, v := range [...]uint64{uint64(s.Stream), s.Command, uint64(s.Op), uint64(s.Piece), uint64(s.Of)} {
		t.Hash = (t.Hash ^ v) * 0x9e3779b97f4a7c15
		t.Hash ^= t.Hash >> 29
	}
}

// String is a line for each step.
func (t Trace) String() string {
	var b strings.Builder
	for _, s := range t.Steps {
		fmt.Fprintln(&b, s)
	}
	if n := t.Total - len(t.Steps); n > 0 {
		fmt.Fprintf(&b, "and %d more\n", n)
	}
	return b.String()
}

// Trace is what has happened so far.
func (x *Steps) Trace() Trace {
	x.mu.Lock()
	defer x.mu.Unlock()
	t := x.trace
	t.Steps = append([]Step(nil), t.Steps...)
	return t
}
