package device

import (
	"errors"
	"sync"
)

// retired are the streams that ended with work in flight: nobody polls them any
// more, and their events and handles are to come back all the same. Who makes a new
// stream looks, on a thread with the device's context current.
type retired struct {
	mu      sync.Mutex
	streams []*Stream
}

func (r *retired) add(s *Stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams = append(r.streams, s)
}

// sweepAtOnce is how many streams are looked at when a new one is made: more than
// one, so that they do not grow in number, and not all.
const sweepAtOnce = 16

// sweep looks at the n streams that were not looked at for longest, and forgets
// those whose events have all come back. One whose device is lost never gives them
// back: see abandon.
func (r *retired) sweep(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n = min(n, len(r.streams))
	looked := r.streams[:n]
	r.streams = r.streams[n:]
	for _, s := range looked {
		if s.outstanding() {
			r.streams = append(r.streams, s)
		}
	}
}

// abandon gives back what the others hold, complete or not: the context goes, and
// nobody will wait for it.
func (r *retired) abandon() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, s := range r.streams {
		errs = append(errs, s.abandon())
	}
	r.streams = nil
	return errors.Join(errs...)
}

func (s *Stream) abandon() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.d.events.give(s.done...)
	s.d.events.give(s.marks...)
	s.done = nil
	s.marksMu.Lock()
	s.marks = nil
	s.marksMu.Unlock()
	return s.destroy()
}

// outstanding polls, and reports whether anything is not back yet.
func (s *Stream) outstanding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy() {
		return true
	}
	if err := s.destroy(); err != nil {
		return true // the device is lost
	}
	return len(s.done) > 0
}

// busy polls, and reports whether the driver has work of the stream left, or cannot
// say. Under mu.
func (s *Stream) busy() bool {
	err := s.poll()
	return err != nil || len(s.marks) > 0
}

// destroy gives the handle back, once. Under mu.
func (s *Stream) destroy() error {
	if s.h == 0 {
		return nil
	}
	err := errors.Join(s.destroyGraphs(), s.d.rt.DestroyStream(s.d.ctx, s.h))
	if err == nil {
		s.h = 0
	}
	return err
}
