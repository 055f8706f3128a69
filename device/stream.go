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
	names   []cudart.CommandName
	hot     []*Block // released last, kept for the owner
	waited  waits

	launches [graphSlots]launchSlot

	// On a line of its own: every receiver looks at it, and the owner changes what
	// stands around it with every submission.
	_        [64]byte
	complete atomic.Uint64 // watermark: the highest number known complete
	_        [56]byte
	given    atomic.Uint64 // the number of the last submission; raised under mu
	promised atomic.Uint64 // the number that what is pending will have, once somebody was told it; 0: nobody was

	released atomic.Int32 // weight of the blocks released since the last mark; see markReleased

	mu    sync.Mutex // guards what follows; held over a driver call, never over another stream's
	done  []*mark    // complete, but still pinned
	spare []*mark
	side  *cudart.List // for submissions on the owner's behalf
	refs  int          // owners
	dead  bool

	// Others look for a mark while the owner is in the driver, so the marks have a
	// lock of their own, held for a few loads: they change under both locks, and
	// are read under either.
	marksMu sync.Mutex
	marks   []*mark // recorded, in order of their numbers

	blocks streamBlocks // guarded by the device's memory
}

// NewStream makes a non-blocking stream. The device's context is current on the
// calling thread.
func (d *Device) NewStream(name string) (*Stream, error) {
	d.retired.sweep(sweepAtOnce)
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
	d.tells.stream(h, name)
	return &Stream{d: d, id: id, name: name, h: h, list: list, refs: 1}, nil
}

// Name is the name the stream was made with.
func (s *Stream) Name() string { return s.name }

// Device is the device whose stream it is.
func (s *Stream) Device() *Device { return s.d }

// Handle is the runtime's handle, for other libraries; what they submit is not
// ordered by anything here until the stream is given something more.
func (s *Stream) Handle() cudart.Stream { return s.h }

// Pending is the number of commands not submitted yet.
func (s *Stream) Pending() int { return s.list.Len() }

// idle reports whether the stream is known to have nothing to do.
func (s *Stream) idle() bool { return s.complete.Load() == s.given.Load() }

// ErrRetired is what a stream answers whose owner has ended.
var ErrRetired = errors.New("device: the stream has been retired")

// Share counts one more owner of the stream; each ends with Retire. Any goroutine
// may call it; it fails where the last owner has ended.
func (s *Stream) Share() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs == 0 {
		return ErrRetired
	}
	s.refs++
	return nil
}

// unshare counts one owner less, and reports whether it was the last.
func (s *Stream) unshare() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refs--
	return s.refs == 0
}

// Retire ends the stream when its last owner does: what was issued is submitted,
// a last event is recorded, and the driver finishes the work in its own time; the
// handle goes back when it has, so that nobody waits in the driver for that. The
// points of a retired stream stay good. The owner's thread calls it, or, for an
// owner that never used the stream, any.
func (s *Stream) Retire() error {
	if !s.unshare() {
		return nil // what is pending is theirs who stay
	}
	_, err := s.Flush(true)
	s.mu.Lock()
	if k := len(s.marks); s.given.Load() > s.complete.Load() && (k == 0 || s.marks[k-1].n < s.given.Load()) {
		// The last event is missing. Nobody could ask for the stream's points any more.
		syncErr := s.d.rt.SynchronizeStream(s.d.ctx, s.h)
		if syncErr == nil {
			s.raise(s.given.Load())
		}
		err = errors.Join(err, syncErr)
	}
	s.dead = true
	if !s.busy() {
		err = errors.Join(err, s.destroy())
	}
	s.list.Close()
	if s.side != nil {
		s.side.Close()
	}
	s.d.events.give(s.spare...)
	s.spare = nil
	s.mu.Unlock()
	s.d.streams.Add(-1)
	s.d.retired.add(s)
	return err
}
