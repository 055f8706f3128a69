package buffer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gpuactor/gpuactor/device"
)

// Debug reports whether GPUACTOR_DEBUG=1 was set when the process started: places
// are recorded then, and calls from the wrong goroutine are always noticed.
var Debug = device.Debug

// OwnershipError is the use of a buffer by somebody who does not own it.
type OwnershipError struct {
	Buffer string // its number and life, size, and device
	Asker  string // who wanted to use it
	Owner  string // who owns it, or what became of it
	Given  string // in debug: where it was given away, or allocated
}

func (e *OwnershipError) Error() string {
	s := fmt.Sprintf("buffer: %s is not %s's: %s", e.Buffer, e.Asker, e.Owner)
	if e.Given != "" {
		s += " (at " + e.Given + ")"
	}
	return s
}

// PoisonError is the use of a buffer whose last write did not happen. It wraps
// what failed.
type PoisonError struct {
	Buffer string
	Cause  error
}

func (e *PoisonError) Error() string {
	return fmt.Sprintf("buffer: %s holds nothing valid, a write of it failed: %v", e.Buffer, e.Cause)
}

func (e *PoisonError) Unwrap() error { return e.Cause }

// ErrNoStream is a device buffer in the hands of somebody without a stream.
var ErrNoStream = errors.New("buffer: device memory needs a stream; an ordinary goroutine can pass host buffers and plain values only")

// ownership describes why owner may not use life gen of the slot. It reads only
// what is safe to read without owning it.
func (x *slot) ownership(w word, owner, gen uint32) error {
	e := &OwnershipError{Buffer: fmt.Sprintf("buffer %s/%d", x.number(), gen), Asker: ownerName(owner)}
	switch {
	case x == nil || gen == 0:
		e.Buffer, e.Owner = "the zero buffer", "it was never allocated"
	case w.gen() != gen || w.state() == Free:
		e.Owner = "it has been released"
	case w.state() == InFlight:
		e.Owner = "it has been handed over, and nobody has taken it yet"
	case w.state() == Foreign && w.owner() == owner:
		e.Owner = "its memory is another device's: pull it here first"
	default:
		e.Owner = fmt.Sprintf("%s owns it (%v)", ownerName(w.owner()), w.state())
	}
	if at := x.site.Load(); at != nil {
		e.Given = *at
	}
	return e
}

func (x *slot) describe(w word) string {
	return fmt.Sprintf("buffer %s/%d", x.number(), w.gen())
}

// number is the slot's name in messages: its address tells it from all others.
func (x *slot) number() string {
	s := fmt.Sprintf("%p", x)
	return strings.TrimPrefix(s, "0x")
}

// born notes what anybody may ask about a buffer.
func (x *slot) born(d *device.Device, bytes uint64) {
	// A slot that an owner uses again is mostly for the same: an atomic store costs
	// as much as all the loads here.
	if x.d.Load() != d {
		x.d.Store(d)
	}
	if x.bytes.Load() != bytes {
		x.bytes.Store(bytes)
	}
	x.mark()
}

// mark records, in debug, the place in the program that allocated the buffer or
// gave it away.
func (x *slot) mark() {
	if Debug {
		at := device.Site()
		x.site.Store(&at)
	}
}
