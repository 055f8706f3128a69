package device

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
)

// listBytes holds about a hundred launches; a full list is submitted at once.
const listBytes = 16 << 10

// reapAt is how many recorded marks a stream lets stand before it asks whether
// half of them are complete: one query (237 ns on an H200) for several records.
const reapAt = 32

// batch is how many commands a busy stream collects before they are submitted
// without anything leaving it.
const batch = 16

// Stream is a CUDA stream, with the commands that it has not been given yet.
//
// Collecting commands, Flush and Retire belong to one goroutine, the owner's, on a
// thread with the device's context current. WaitFor of others, Poll, and
// submissions on the owner's behalf ([Stream.CopyPeer]) may come from any.
type Stream struct {
	d    *Device
	id   uint32
	name string
	h    cudart.Stream

	// The owner's.
	list    *cudart.List
	effects []effect
	pinned  []*mark
	args    []cudart.Arg
	waited  map[uint32]uint64 // by stream: the highest number already waited for
	refs    int

	complete atomic.Uint64 // watermark: the highest number known complete
	given    atomic.Uint64 // the number of the last submission; raised under mu
	promised atomic.Uint64 // the number that what is pending will have, once somebody was told it; 0: nobody was

	mu    sync.Mutex // guards what follows; held over a driver call, never over another stream's
	marks []*mark    // recorded, in order of their numbers
	done  []*mark    // complete, but still pinned
	spare []*mark
	side  *cudart.List // for submissions on the owner's behalf
	dead  bool

	blocks streamBlocks // guarded by the device's memory
}

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

// NewStream makes a non-blocking stream. The device's context is current on the
// calling thread.
func (d *Device) NewStream(name string) (*Stream, error) {
	list, err := cudart.NewList(listBytes)
	if err != nil {
		return nil, err
	}
	h, err := d.rt.CreateStream(d.ctx)
	if err != nil {
		list.Close()
		return nil, fmt.Errorf("device: stream %s on %v: %w", name, d, err)
	}
	nextID.Lock()
	nextID.n++
	id := nextID.n
	nextID.Unlock()
	d.streams.Add(1)
	return &Stream{d: d, id: id, name: name, h: h, list: list, refs: 1, waited: map[uint32]uint64{}}, nil
}

// Name is the name the stream was made with.
func (s *Stream) Name() string { return s.name }

// Device is the device whose stream it is.
func (s *Stream) Device() *Device { return s.d }

// Handle is the runtime's handle, for other libraries; what they submit is not
// ordered by anything here until the stream is given something more.
func (s *Stream) Handle() cudart.Stream { return s.h }

// promiseGap is how many submissions others may make on the owner's behalf before
// what the owner has pending is submitted itself.
const promiseGap = 1 << 16

// Next is the point of everything issued so far, submitted or not.
//
// I6: the number of a point that is not submitted yet is promised: whatever is
// submitted on the owner's behalf in the meantime gets a lower one. Otherwise the
// event of such a submission would stand for work that the driver has not seen.
func (s *Stream) Next() Point {
	if s.list.Len() == 0 {
		return Point{s, s.given.Load()}
	}
	if s.promised.Load() == 0 {
		s.promised.Store(s.given.Load() + promiseGap)
	}
	return Point{s, s.promised.Load()}
}

// number is that of a submission that is being made, under mu: the promised one for
// the owner's own list, one more than the last for all others.
func (s *Stream) number(l *cudart.List) uint64 {
	n := s.given.Load() + 1
	if p := s.promised.Load(); p != 0 {
		if l == s.list {
			s.promised.Store(0)
			return p
		}
		if n >= p {
			panic(fmt.Sprintf("device: stream %s: %d submissions on its owner's behalf while the owner had commands pending", s.name, promiseGap))
		}
	}
	return n
}

// Given is the point of everything submitted so far.
func (s *Stream) Given() Point { return Point{s, s.given.Load()} }

// Pending is the number of commands not submitted yet.
func (s *Stream) Pending() int { return s.list.Len() }

// idle reports whether the stream is known to have nothing to do.
func (s *Stream) idle() bool { return s.complete.Load() == s.given.Load() }

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

// WaitFor makes what s is given from now on come after p, unless a watermark
// says that it does already. why is for traces. Nothing blocks.
func (s *Stream) WaitFor(p Point, why string) error {
	if p.s == nil || p.s == s || p.Known() || s.waited[p.s.id] >= p.n {
		return nil
	}
	m, err := p.s.pin(p.n, s.d)
	if err != nil || m == nil {
		return err
	}
	if !s.list.Wait(m.event) {
		if err := s.room(); err != nil {
			m.pins.Add(-1)
			return err
		}
		s.list.Wait(m.event)
	}
	s.pinned = append(s.pinned, m)
	if len(s.waited) > 4096 {
		clear(s.waited) // streams long gone; a wait too many is only a wait
	}
	s.waited[p.s.id] = m.n
	if s.d.trace != nil {
		s.d.trace.Wait(s, s.Next().n, p, why)
	}
	return nil
}

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

// ErrRetired is what a stream answers whose owner has ended.
var ErrRetired = errors.New("device: the stream has been retired")

// Share counts one more owner of the stream; each ends with Retire.
func (s *Stream) Share() { s.refs++ }

// Retire ends the stream when its last owner does: what was issued is submitted,
// a last event is recorded, and the driver finishes the work in its own time.
// The points of a retired stream stay good. The owner's thread calls it.
func (s *Stream) Retire() error {
	if s.refs--; s.refs > 0 {
		_, err := s.Flush(false)
		return err
	}
	_, err := s.Flush(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = true
	err = errors.Join(err, s.d.rt.DestroyStream(s.d.ctx, s.h))
	s.list.Close()
	if s.side != nil {
		s.side.Close()
	}
	s.d.streams.Add(-1)
	s.d.events.give(s.spare...)
	s.spare = nil
	return err
}
