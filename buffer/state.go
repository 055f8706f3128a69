// Package buffer is typed device memory with one owner at a time.
//
// A [Buf] is a small value: a slot and a generation. Exactly one owner may use
// what stands behind it; handing it over carries the point of its last use along,
// and whoever takes it waits for that point on the GPU. Using a buffer that one
// does not own is an [*OwnershipError], checked by one atomic load, always.
//
//	b, err := buffer.New[float32](s, n)           // s owns it
//	err = s.Launch(fill, device.Linear(n), b.Out(), device.F32(1))
//	err = items.Send(s, b)                        // no longer ours; b is stale here
//	...
//	b, err := items.Recv(t)                       // t owns it, and waits on the GPU
//	err = b.Release(t)                            // after t's work, in stream order
//
// What takes a [User] belongs to that user's goroutine, and none of it blocks but
// where it says so. Valid, State, Len, Bytes and Device may be asked by anybody.
//
// # What a program needs of it
//
//   - device memory: [New], [Buf] and its methods, [ReleaseAll]
//   - pinned memory: [NewHost], [HostOn], [Host] and its methods Len, Bytes, Slice,
//     SliceCtx, Release and ReleaseHere
//   - a method Carry ([Carrier], [Handles.Add]) for messages that hold buffers behind a
//     slice, a map or a pointer
//   - the errors: [*OwnershipError], [*PoisonError], [ErrNoStream]
//
// A [User] is an *actor.Stream. All else is for packages that issue commands or hand
// buffers over, as actor and transfer do: [Owner], [Handle.Use], [Handle.Written],
// [Handle.Block], [NewElsewhere], [Host.Copying] and [Host.Copied], [Plan], [CanGive],
// [Give], [Take] and what goes with them, [Live].
//
// # Invariants
//
//	B1  a slot's word (state, owner, generation) changes only by [next]
//	B2  every life of a slot has a generation of its own; a slot whose
//	    generations are used up is retired, so that a stale handle is
//	    noticed, always
//	B3  what a slot holds besides the word belongs to whoever the word names,
//	    and while it is in flight to the hand-off that carries it
package buffer

import "fmt"

// State is where a buffer is in its life.
type State uint8

const (
	Free      State = iota // no buffer: the slot awaits its next life
	Exclusive              // used by its owner
	InFlight               // handed over, not yet taken
	Foreign                // owned on a device other than its memory's: pull, send on or release
	Poisoned               // what was to be written was not: overwrite in full, or release
)

// String is the state's name: "exclusive", "in flight".
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("state %d", uint8(s))
}

var stateNames = [...]string{"freed", "exclusive", "in flight", "foreign", "poisoned"}

// event is what happens to a buffer.
type event uint8

const (
	allocated event = iota
	sent
	received     // on the device of its memory
	receivedAway // on another device
	receivedBad  // with a cause in hand: what it holds was never written
	failed       // a write of it did not happen
	overwritten  // in full
	released
	eventCount
)

func (e event) String() string { return eventNames[e] }

var eventNames = [...]string{"allocated", "sent", "received", "received on another device", "received poisoned", "failed", "overwritten", "released"}

// next is the whole state machine: what state follows, and whether the event is
// legal in this one.
func next(s State, e event) (State, bool) {
	switch e {
	case allocated:
		return Exclusive, s == Free
	case sent:
		return InFlight, s == Exclusive || s == Foreign || s == Poisoned
	case received:
		return Exclusive, s == InFlight
	case receivedAway:
		return Foreign, s == InFlight
	case receivedBad:
		return Poisoned, s == InFlight
	case failed:
		return Poisoned, s == Exclusive || s == Poisoned
	case overwritten:
		return Exclusive, s == Poisoned || s == Exclusive
	case released:
		return Free, s != Free
	}
	return s, false
}

// word packs a slot's state: 28 bits of generation, 32 of owner, 4 of state. A free
// slot has no owner; there the [ending] of its last life stands in its place.
type word uint64

// ending is how a buffer's life ended.
type ending uint8

const (
	endedReleased ending = iota
	endedPulled
	endedDropped
	endedWithOwner
	endedWithDevice
)

func (e ending) String() string { return endingTexts[e] }

var endingTexts = [...]string{
	"it has been released",
	"it has been pulled to another device",
	"it has been released undelivered: it was sent, and nobody took it",
	"it has been released when its owner ended",
	"it has been released with its device",
}

const maxGen = 1<<28 - 1

func pack(gen, owner uint32, s State) word {
	return word(gen)<<36 | word(owner)<<4 | word(s)
}

func (w word) gen() uint32    { return uint32(w >> 36) }
func (w word) owner() uint32  { return uint32(w >> 4) }
func (w word) ending() ending { return ending(w.owner()) }
func (w word) state() State   { return State(w & 15) }
