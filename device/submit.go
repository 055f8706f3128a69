package device

import (
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
)

// batch is how many commands a busy stream collects before they are submitted
// without anything leaving it.
const batch = 16

// effect is a command of the list that writes memory somebody owns.
type effect struct {
	index int
	op    string
	w     Written
	gen   uint32
}

// Written is memory that a command would have written.
type Written interface {
	// Poison says that the write did not happen. gen is which life of the
	// memory was meant; a later one is not touched.
	Poison(gen uint32, cause error)
}

// SubmitError is what the runtime refused of a submission. The commands behind
// the refused one were skipped, and what they would have written is poisoned.
type SubmitError struct {
	Stream string
	Op     string // the refused command: a kernel's name, "upload", "wait"
	Site   string // where it was issued, with GPUACTOR_DEBUG=1
	Err    error
}

func (e *SubmitError) Error() string {
	at := ""
	if e.Site != "" {
		at = " (issued at " + e.Site + ")"
	}
	return fmt.Sprintf("device: stream %s: %s%s refused: %v", e.Stream, e.Op, at, e.Err)
}

func (e *SubmitError) Unwrap() error { return e.Err }

// room makes room for one more command where the list is full.
func (s *Stream) room() error {
	_, err := s.Flush(false)
	return err
}

// issue finishes the issuing of an effect: it is noted for poisoning, traced, and
// submitted at once where the stream has nothing to do (latency first).
func (s *Stream) issue(op cudart.Op, name string, w Written, gen uint32) error {
	if w != nil {
		s.effects = append(s.effects, effect{s.list.Len() - 1, name, w, gen})
	}
	if s.d.trace != nil {
		s.d.trace.Command(s, s.Next().n, op, name)
	}
	if !submitNow(s.idle(), s.list.Len()) {
		return nil
	}
	_, err := s.Flush(false)
	return err
}

// submitNow decides whether what was issued goes to the driver now: an idle
// stream starts at once, a busy one is given batches.
func submitNow(idle bool, pending int) bool { return idle || pending >= batch }

// Flush submits what was issued. With mark an event is recorded behind it, so
// that other streams can wait for the point that Flush returns; where one stands
// there already, none is. The error is a [*SubmitError]; the point is good all
// the same, since records run behind a refused command.
func (s *Stream) Flush(mark bool) (Point, error) {
	if s.list.Len() == 0 && !(mark && s.unmarked()) {
		return Point{s, s.given.Load()}, nil
	}
	s.mu.Lock()
	p, refused, err := s.submit(s.list, mark)
	s.mu.Unlock()
	for _, m := range s.pinned {
		m.pins.Add(-1)
	}
	s.pinned = s.pinned[:0]
	if err != nil {
		err = s.refuse(refused, err)
	}
	clear(s.effects)
	s.effects = s.effects[:0]
	return p, err
}

// unmarked reports whether the last submission is neither complete nor recorded.
func (s *Stream) unmarked() bool {
	if s.idle() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.marks) == 0 || s.marks[len(s.marks)-1].n < s.given.Load()
}

// submit gives a list to the driver as one submission, under mu, and empties it.
func (s *Stream) submit(l *cudart.List, record bool) (Point, int, error) {
	if s.dead {
		l.Reset()
		return Point{}, 0, ErrRetired
	}
	var m *mark
	var noMark error
	if record {
		// Without an event the commands run all the same; only the point cannot
		// be shown to others, and whoever needed that gets the error.
		if m, noMark = s.takeMark(); m != nil {
			l.Record(m.event) // a list keeps room for it
		}
	}
	n := s.number(l)
	last := l.Len() - 1
	refused, err := s.d.rt.Submit(s.d.ctx, s.h, l)
	l.Reset()
	s.given.Store(n)
	if err == nil && noMark != nil {
		return Point{s, n}, last + 1, noMark
	}
	switch {
	case m == nil:
	case err != nil && refused == last:
		s.spare = append(s.spare, m) // the record itself was refused
	default:
		m.n = n
		s.marks = append(s.marks, m)
		if len(s.marks) >= reapAt {
			s.reapHalf()
		}
	}
	return Point{s, n}, refused, err
}

// refuse turns a refusal into its error, and poisons what was not written.
func (s *Stream) refuse(index int, err error) error {
	e := &SubmitError{Stream: s.name, Op: "submission", Err: err}
	for _, f := range s.effects {
		if f.index == index {
			e.Op = f.op
			break
		}
	}
	for _, f := range s.effects {
		if f.index >= index {
			f.w.Poison(f.gen, e)
		}
	}
	clear(s.waited) // a wait may have been the refused command
	return e
}

// takeMark is a spare mark, under mu.
func (s *Stream) takeMark() (*mark, error) {
	if n := len(s.spare); n > 0 {
		m := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return m, nil
	}
	return s.d.events.take()
}
