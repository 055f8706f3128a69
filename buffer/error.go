package buffer

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/gpuactor/gpuactor/device"
)

// Debug reports whether GPUACTOR_DEBUG=1 was set when the process started: places
// are recorded then, and calls from the wrong goroutine are always noticed.
var Debug = device.Debug

// OwnershipError is the use of a buffer by somebody who does not own it.
type OwnershipError struct {
	Buffer string // its number and life, and what it is: "#12.3 (1024 float32 on device 0)"
	Asker  string // the name of who wanted to use it
	Owner  string // who owns it, or what became of it
	Given  string // in debug: what happened to it last, and where: "given away at main.go:12"

	asker string // Asker as it stands in a sentence
}

// Error says what somebody wanted to use, and who owns it or what became of it.
func (e *OwnershipError) Error() string {
	s := fmt.Sprintf("buffer: %s is not %s's to use: %s", e.Buffer, e.asker, e.Owner)
	switch {
	case e.Given != "":
		s += " (" + e.Given + ")"
	case !Debug && e.Buffer != zeroBuffer:
		s += " (GPUACTOR_DEBUG=1 records places)"
	}
	return s
}

const zeroBuffer = "the zero buffer"

// PoisonError is the use of a buffer whose last write did not happen. It wraps
// what failed.
type PoisonError struct {
	Buffer string // as in [OwnershipError]
	Cause  error  // what was refused or failed: a [*device.SubmitError], mostly
}

// Error says which buffer it is, and what failed.
func (e *PoisonError) Error() string {
	return fmt.Sprintf("buffer: %s holds nothing valid, a write of it failed: %v", e.Buffer, e.Cause)
}

// Unwrap is the cause.
func (e *PoisonError) Unwrap() error { return e.Cause }

// ErrNoStream is a device buffer in the hands of somebody without a stream.
var ErrNoStream = errors.New("buffer: device memory needs a stream; an ordinary goroutine can pass host buffers and plain values only")

// ownership describes why owner may not use life gen of the slot. It reads only
// what is safe to read without owning it.
func (x *slot) ownership(w word, owner, gen uint32) error {
	e := &OwnershipError{Buffer: x.describe(w, gen), Asker: ownerName(owner), asker: ownerSaid(owner)}
	switch {
	case gen == 0:
		e.Buffer, e.Owner = zeroBuffer, "it was never allocated"
		return e
	case w.gen() != gen:
		e.Owner = "it has been released or pulled, and its place is another's"
		return e
	case w.state() == Free:
		e.Owner = w.ending().String()
	case w.state() == InFlight:
		e.Owner = "it has been handed over, and nobody has taken it yet"
	case w.state() == Foreign && w.owner() == owner:
		e.Owner = "its memory is another device's: pull it here first"
	case w.state() == Foreign:
		e.Owner = ownerSaid(w.owner()) + " owns it, on another device"
	case w.state() == Poisoned:
		e.Owner = ownerSaid(w.owner()) + " owns it (poisoned)"
	default:
		e.Owner = ownerSaid(w.owner()) + " owns it"
	}
	if at := x.site.Load(); Debug && at != nil {
		e.Given = *at
	}
	return e
}

// describe is life gen of the slot in messages, w being the slot's word: its number,
// which tells it from all others of the process, and what it is. The slot's next life
// may be about to begin on another goroutine; then it is described.
func (x *slot) describe(w word, gen uint32) string {
	name := fmt.Sprintf("#%d.%d", x.number, gen)
	d, elem := x.d.Load(), device.Elem(uint8(x.elem.Load()))
	if w.gen() != gen || d == nil {
		return name
	}
	pinned := ""
	if x.elem.Load()&pinnedElem != 0 {
		pinned = " pinned,"
	}
	return fmt.Sprintf("%s (%d %v%s on device %d)", name, x.bytes.Load()/elemSize(elem), elem, pinned, d.Index())
}

// elemSize is the size of an [Element] in bytes.
func elemSize(k device.Elem) uint64 {
	switch k {
	case reflect.Int8, reflect.Uint8:
		return 1
	case reflect.Int16, reflect.Uint16:
		return 2
	case reflect.Int32, reflect.Uint32, reflect.Float32:
		return 4
	}
	return 8
}

// pinnedElem marks, beside the kind of a slot's elements, pinned memory.
const pinnedElem = 1 << 8

// born notes what anybody may ask about a buffer.
func (x *slot) born(d *device.Device, bytes uint64, elem uint32) {
	// A slot that an owner uses again is mostly for the same: an atomic store costs
	// as much as all the loads here.
	if x.d.Load() != d {
		x.d.Store(d)
	}
	if x.bytes.Load() != bytes {
		x.bytes.Store(bytes)
	}
	if x.elem.Load() != elem {
		x.elem.Store(elem)
	}
	x.mark("allocated at ")
}

// mark records, in debug, the place in the program where something happened to the
// buffer.
func (x *slot) mark(what string) {
	if Debug {
		at := what + device.Site()
		x.site.Store(&at)
	}
}
