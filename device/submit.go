package device

import (
	"errors"
	"fmt"
	"math"

	"github.com/gpuactor/gpuactor/cudart"
)

// batch is how many commands a busy stream collects before they are submitted
// without anything leaving it.
const batch = 16

// effect is a command of the list: its name, and memory that it writes and
// somebody owns, or nil. One that writes several is there several times.
type effect struct {
	index int
	op    string
	site  string // in debug, and where the runtime wants names
	w     Written
	gen   uint32
}

// Written is memory that a command writes. gen is which life of the memory is
// meant; a later one is not touched.
type Written interface {
	// Issued says that a command which writes the memory has been issued.
	Issued(gen uint32)
	// Poison says that the write did not happen.
	Poison(gen uint32, cause error)
}

// SubmitError is what the runtime refused of a submission. The commands behind
// the refused one were skipped, and what they would have written is poisoned.
type SubmitError struct {
	Stream string // its name
	Op     string // the refused command: a kernel's name, "upload", "wait"
	Site   string // where it was issued, with GPUACTOR_DEBUG=1
	Err    error  // the runtime's
}

// Error says what was refused where, and why.
func (e *SubmitError) Error() string {
	at := ""
	if e.Site != "" {
		at = " (issued at " + e.Site + ")"
	}
	return fmt.Sprintf("device: stream %s: %s%s refused: %v", e.Stream, e.Op, at, e.Err)
}

// Unwrap is the runtime's error.
func (e *SubmitError) Unwrap() error { return e.Err }

// room makes room for one more command where the list is full. The error is what
// was refused of the commands before it.
func (s *Stream) room() error {
	if s.list.Len() == 0 {
		return ErrRetired // an empty list without room has been closed
	}
	_, err := s.Flush(false)
	return err
}

// fit appends a command by add, which reports whether the list had room, and makes
// room where it had none. On an error the command is not appended.
func (s *Stream) fit(add func() bool) error {
	if add() {
		return nil
	}
	if err := s.room(); err != nil {
		return err
	}
	add()
	return nil
}

// note remembers who writes what, for the command issued last.
func (s *Stream) note(op string, w Written, gen uint32) {
	e := effect{index: s.list.Len() - 1, op: op, w: w, gen: gen}
	if Debug || s.d.tells.namer != nil {
		e.site = Site()
	}
	s.effects = append(s.effects, e)
	if w != nil {
		w.Issued(gen)
	}
}

// issue finishes the issuing of an effect: it is noted for poisoning, traced, and
// submitted at once where the stream has nothing to do (latency first).
func (s *Stream) issue(op cudart.Op, name string, w Written, gen uint32) error {
	s.note(name, w, gen)
	return s.issued(op, name)
}

func (s *Stream) issued(op cudart.Op, name string) error {
	if s.d.trace != nil {
		s.d.trace.Command(s, s.Next().n, op, name)
	}
	if !submitNow(s.idle(), s.list.Len()) {
		return nil
	}
	_, err := s.Flush(false)
	return err
}

// markReleased is the weight of released blocks from which on a submission ends with
// an event, for those who look for memory: they would have to record one on the
// owner's behalf, and might wait for the owner to come out of the driver.
const markReleased = 8

// weight is what a released block counts: eight small ones are worth an event, a
// large one is alone.
func weight(bytes uint64) int32 { return int32(min(1+bytes>>17, markReleased)) }

// submitNow decides whether what was issued goes to the driver now: an idle
// stream starts at once, a busy one is given batches.
func submitNow(idle bool, pending int) bool { return idle || pending >= batch }

// Flush submits what was issued. With mark an event is recorded behind it, so
// that other streams can wait for the point that Flush returns; where one stands
// there already, none is. The error is a [*SubmitError]; the point is good all
// the same: where its event is missing, whoever waits for it has one recorded.
func (s *Stream) Flush(mark bool) (Point, error) {
	s.spill()
	if s.list.Len() == 0 && !(mark && s.unmarked()) {
		return Point{s, s.given.Load()}, nil
	}
	if s.released.Load() >= markReleased {
		mark = true
	}
	if mark && s.released.Load() != 0 {
		s.released.Store(0)
	}
	s.mu.Lock()
	p, refused, err := s.submitMarked(s.list, mark)
	s.mu.Unlock()
	if err != nil {
		s.refuse(refused, err)
	}
	if err == nil || !s.waitAgain(err) {
		for _, m := range s.pinned {
			m.pins.Add(-1)
		}
		s.pinned = s.pinned[:0]
	}
	s.effects = s.effects[:0] // not cleared: what they name is kept anyway
	return p, err
}

// unmarked reports whether the last submission is neither complete nor recorded.
func (s *Stream) unmarked() bool {
	if s.idle() {
		return false
	}
	s.marksMu.Lock()
	defer s.marksMu.Unlock()
	return len(s.marks) == 0 || s.marks[len(s.marks)-1].n < s.given.Load()
}

// submitMarked is submit, with a mark where record asks for one. Where there is no
// event for it the commands run all the same, and whoever needed it gets the error.
func (s *Stream) submitMarked(l *cudart.List, record bool) (Point, int, error) {
	if !record || s.dead {
		return s.submit(l, nil)
	}
	m, noMark := s.takeMark()
	p, refused, err := s.submit(l, m)
	if err == nil && noMark != nil {
		return p, math.MaxInt, &SubmitError{Stream: s.name, Op: cudart.OpRecord.String(), Err: noMark}
	}
	return p, refused, err
}

// submit gives a list to the driver as one submission, under mu, and empties it. A
// mark is recorded behind it. The error is a [*SubmitError], and comes with the
// index of the command that was refused.
func (s *Stream) submit(l *cudart.List, m *mark) (Point, int, error) {
	if s.dead {
		l.Reset()
		return Point{s, s.given.Load()}, 0, &SubmitError{Stream: s.name, Op: "submission", Err: ErrRetired}
	}
	if m != nil {
		l.Record(m.event) // a list keeps room for it
	}
	n, last := s.number(l), l.Len()-1
	refused, err := s.hand(l)
	if err != nil {
		err = &SubmitError{Stream: s.name, Op: opAt(l.Words(), refused), Err: err}
	}
	l.Reset()
	s.given.Store(n)
	switch {
	case m == nil:
	case err != nil && (refused == last || !s.recordAgain(l, m)):
		s.spare = append(s.spare, m)
	default:
		m.n = n
		s.marksMu.Lock()
		s.marks = append(s.marks, m)
		s.marksMu.Unlock()
		if len(s.marks) >= reapAt {
			s.reapHalf()
		}
	}
	return Point{s, n}, refused, err
}

// hand gives a list to the driver, in turn.
func (s *Stream) hand(l *cudart.List) (int, error) {
	if takesTurns(s.d.working.Load(), s.d.procs) && s.d.turns.enter() {
		defer s.d.turns.leave()
	}
	if s.d.tells.namer != nil && l == s.list {
		s.nameEffects()
	}
	return s.d.rt.Submit(s.d.ctx, s.h, l)
}

// recordAgain makes sure of a mark in a list of which something was refused: the
// first refusal is all that is known, and a mark that was not recorded would count
// as complete.
func (s *Stream) recordAgain(l *cudart.List, m *mark) bool {
	l.Record(m.event)
	_, err := s.d.rt.Submit(s.d.ctx, s.h, l)
	l.Reset()
	return err == nil
}

// opAt names the command at an index of a list.
func opAt(words []uint64, index int) string {
	for i := 0; len(words) > 0; i++ {
		c, rest := cudart.Decode(words)
		if i == index {
			return c.Op.String()
		}
		words = rest
	}
	return "submission"
}

// refuse names the refused command in err, and poisons what was not written.
func (s *Stream) refuse(index int, err error) {
	var e *SubmitError
	if !errors.As(err, &e) {
		return
	}
	for _, f := range s.effects {
		if f.index == index {
			e.Op, e.Site = f.op, f.site
			break
		}
	}
	for _, f := range s.effects {
		if f.index >= index && f.w != nil {
			f.w.Poison(f.gen, e)
		}
	}
}

// waitAgain issues the waits of a submission again of which something was refused:
// it may have been one of them, and nothing that comes later may run without it.
func (s *Stream) waitAgain(err error) bool {
	if cudart.IsSticky(err) || errors.Is(err, ErrRetired) {
		return false
	}
	for _, m := range s.pinned {
		s.list.Wait(m.event) // they had room before
	}
	return true
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
