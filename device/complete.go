package device

import (
	"errors"
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
)

// pin finds the first mark at or behind number n and keeps it from being
// reused, until the caller lowers its pins. It is nil where n is complete.
// cur is the device whose context is current on the caller's thread.
//
// I2: nobody learns of an event whose record has not been submitted. Where
// nothing is recorded behind n yet, pin records it here, and only then hands
// it out.
func (s *Stream) pin(n uint64, cur *Device) (*mark, error) {
	if m, ok := s.pinFound(n); ok {
		return m, nil
	}
	if n > s.given.Load() {
		panic(fmt.Sprintf("device: a wait for %v, which has not been submitted", Point{s, n}))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.find(n)
	if !ok {
		if err := s.recordHere(cur); err != nil {
			return nil, s.catchUp(cur, err)
		}
		if m, ok = s.find(n); !ok {
			return nil, fmt.Errorf("device: nothing stands for %v: %w", Point{s, n}, ErrRetired)
		}
	}
	if m != nil {
		m.pins.Add(1)
	}
	return m, nil
}

// pinFound is pin where a mark stands already, while the owner may be in the driver.
func (s *Stream) pinFound(n uint64) (*mark, bool) {
	s.marksMu.Lock()
	defer s.marksMu.Unlock()
	m, ok := s.find(n)
	if m != nil {
		m.pins.Add(1)
	}
	return m, ok
}

// catchUp is for who needs an event and cannot have one: the calling thread waits,
// in place of its stream. The order holds, and only time is lost. Under mu.
func (s *Stream) catchUp(cur *Device, why error) error {
	if cudart.IsSticky(why) || s.dead {
		return why
	}
	n := s.given.Load()
	if err := s.asOwner(cur, func() error { return s.d.rt.SynchronizeStream(s.d.ctx, s.h) }); err != nil {
		return errors.Join(why, err)
	}
	s.raise(n)
	return nil
}

// find is the first mark at or behind n, under mu or marksMu; nil and true where n is complete.
func (s *Stream) find(n uint64) (*mark, bool) {
	if n <= s.complete.Load() {
		return nil, true
	}
	if k := len(s.marks); k == 0 || s.marks[k-1].n < n {
		return nil, false
	}
	for _, m := range s.marks {
		if m.n >= n {
			return m, true
		}
	}
	panic("unreachable: the last mark is behind n")
}

// cover sees to it that a mark stands at or behind n.
func (s *Stream) cover(n uint64, cur *Device) error {
	s.marksMu.Lock()
	_, ok := s.find(n)
	s.marksMu.Unlock()
	if ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.find(n); ok {
		return nil
	}
	return s.recordHere(cur)
}

// Poll asks the driver how far the stream has come, raises the watermark, and
// finishes what was waiting for that: events go back, released memory becomes
// free. Any goroutine may call it. The error is the device's, and sticky.
func (s *Stream) Poll() error {
	if !s.mu.TryLock() {
		return s.peek() // the owner is in the driver; what is to be given back can wait
	}
	defer s.mu.Unlock()
	return s.poll()
}

// peek raises the watermark and gives nothing back.
func (s *Stream) peek() error {
	s.marksMu.Lock()
	var ends [2]*mark // the newest and the oldest
	if k := len(s.marks); k > 0 {
		ends = [2]*mark{s.marks[k-1], s.marks[0]}
		ends[0].pins.Add(1)
		ends[1].pins.Add(1)
	}
	s.marksMu.Unlock()
	var done bool
	var err error
	for _, m := range ends {
		if m == nil {
			continue
		}
		if !done && err == nil {
			if done, err = s.d.rt.QueryEvent(m.event); done {
				s.raise(m.n)
			}
		}
		m.pins.Add(-1)
	}
	if err != nil {
		return s.lost(err)
	}
	return nil
}

func (s *Stream) poll() error {
	if len(s.done) > 0 {
		s.sweep()
	}
	if k := len(s.marks); k > 1 {
		done, err := s.d.rt.QueryEvent(s.marks[k-1].event)
		if err != nil {
			return s.lost(err)
		}
		if done {
			s.reap(k)
			return nil
		}
	}
	for len(s.marks) > 0 {
		done, err := s.d.rt.QueryEvent(s.marks[0].event)
		if err != nil {
			return s.lost(err)
		}
		if !done {
			break
		}
		s.reap(1)
	}
	return nil
}

func (s *Stream) lost(err error) error {
	return fmt.Errorf("device: %v: stream %s: %w", s.d, s.name, err)
}

// reapHalf asks for the middle mark only, and never again than at reapAt marks
// more, so that a busy stream pays one query for several records.
func (s *Stream) reapHalf() {
	k := len(s.marks) / 2
	if done, err := s.d.rt.QueryEvent(s.marks[k-1].event); err == nil && done {
		s.reap(k)
	}
}

// reap takes the first k marks as complete, under mu.
func (s *Stream) reap(k int) {
	s.raise(s.marks[k-1].n) // first: who does not find a mark any more finds this
	s.done = append(s.done, s.marks[:k]...)
	s.marksMu.Lock()
	rest := copy(s.marks, s.marks[k:])
	clear(s.marks[rest:])
	s.marks = s.marks[:rest]
	s.marksMu.Unlock()
	s.sweep()
}

// sweep lets go of the complete marks that nobody pins any more.
func (s *Stream) sweep() {
	kept := s.done[:0]
	for _, m := range s.done {
		switch {
		case m.pins.Load() > 0:
			kept = append(kept, m)
		case s.dead:
			s.d.events.give(m)
		default:
			s.spare = append(s.spare, m)
		}
	}
	clear(s.done[len(kept):])
	s.done = kept
}

// raise lifts the watermark, and frees the blocks whose last use it covers.
func (s *Stream) raise(n uint64) {
	for {
		known := s.complete.Load()
		if n <= known {
			return
		}
		if s.complete.CompareAndSwap(known, n) {
			s.d.mem.settle(s)
			return
		}
	}
}
