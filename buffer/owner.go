package buffer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/gpuactor/gpuactor/device"
)

// User is who works with buffers. Stream actors are users.
type User interface {
	// Owner is the identity under which buffers are owned. It fails where the
	// caller may not speak for it: another goroutine than the actor's own.
	Owner() (*Owner, error)
}

// Owner is an identity that buffers belong to, with the stream that its commands
// go to. It belongs to one goroutine at a time.
type Owner struct {
	ID     uint32         // what slots are compared with
	Name   string         // in messages
	Stream *device.Stream // where its commands go

	spare []*slot // free ones, kept

	// Await suspends the owner until done says so (it is asked again and again)
	// or the owner's context ends, whose cause it returns then.
	Await func(done func() (bool, error)) error
	// Context is the owner's, which ends when it shall stop.
	Context func() context.Context

	// What the owner waits for, and how Await asks for it: kept here, and bound
	// once, so that waiting allocates nothing.
	wants              wanted
	askBlock, askPoint func() (bool, error)
}

type wanted struct {
	bytes     uint64
	elsewhere bool
	block     *device.Block
	point     device.Point
}

// hostID owns pinned memory that no stream actor owns: that of ordinary goroutines.
const hostID = 1

var owners = struct {
	sync.Mutex
	last uint32
	live map[uint32]*Owner
}{last: hostID, live: map[uint32]*Owner{}}

// NewOwner makes an identity. End takes it back.
func NewOwner(name string, s *device.Stream) *Owner {
	owners.Lock()
	defer owners.Unlock()
	for {
		owners.last++
		if owners.last <= hostID || owners.live[owners.last] != nil {
			continue // after 2³² owners the numbers begin again
		}
		o := &Owner{ID: owners.last, Name: name, Stream: s}
		o.askBlock, o.askPoint = o.haveBlock, o.havePoint
		owners.live[o.ID] = o
		return o
	}
}

// haveBlock asks for the memory that is wanted.
func (o *Owner) haveBlock() (bool, error) {
	b, err := o.Stream.Device().Alloc(o.Stream, o.wants.bytes, o.wants.elsewhere)
	if errors.Is(err, device.ErrBudget) {
		return false, nil
	}
	o.wants.block = b
	return true, err
}

// havePoint asks whether the point that is wanted is complete.
func (o *Owner) havePoint() (bool, error) { return o.wants.point.Done(o.Stream.Device()) }

// AwaitPoint suspends the owner until p is complete, as Await does; it allocates
// nothing.
func (o *Owner) AwaitPoint(p device.Point) error {
	o.wants.point = p
	err := o.Await(o.askPoint)
	o.wants.point = device.Point{}
	return err
}

// ownerOf finds a living owner.
func ownerOf(id uint32) *Owner {
	owners.Lock()
	defer owners.Unlock()
	return owners.live[id]
}

// ownerName is an identity's name, or what there is to say of it.
func ownerName(id uint32) string {
	if o := ownerOf(id); o != nil {
		return o.Name
	}
	return ownerSaid(id)
}

// ownerSaid is an identity as it stands in a sentence: its name in quotes.
func ownerSaid(id uint32) string {
	switch o := ownerOf(id); {
	case o != nil:
		return strconv.Quote(o.Name)
	case id == hostID:
		return "an ordinary goroutine"
	case id == 0:
		return "nobody"
	}
	return fmt.Sprintf("an actor that has ended (%d)", id)
}

// Reclaim releases whatever the owner owns, in the order of its stream, and
// reports how many buffers that were. The owner's thread calls it.
func (o *Owner) Reclaim() int { return o.ReclaimThese(o.Owned()) }

// Owned lists what the owner owns.
func (o *Owner) Owned() []Handle {
	var hs []Handle
	each(func(x *slot, w word) {
		if w.owner() == o.ID && w.state() != InFlight {
			hs = append(hs, Handle{x, w.gen()})
		}
	})
	return hs
}

// ReclaimThese is Reclaim for those of the buffers that the owner still owns.
func (o *Owner) ReclaimThese(hs []Handle) int {
	n := 0
	for _, h := range hs {
		w := h.x.load()
		if w.gen() == h.gen && w.owner() == o.ID && w.state() != InFlight && w.state() != Free &&
			h.x.endOwned(w, o, endedWithOwner) {
			n++
		}
	}
	return n
}

// End takes the identity back; nothing is owned under it any more.
func (o *Owner) End() {
	slots.mu.Lock()
	o.giveSlots(len(o.spare))
	slots.mu.Unlock()
	owners.Lock()
	defer owners.Unlock()
	delete(owners.live, o.ID)
}

// ReclaimDevices releases every buffer of some devices, whoever owns it and in
// flight or not, and reports how many that were. Nobody uses them any more.
func ReclaimDevices(devs ...*device.Device) int {
	n := 0
	each(func(x *slot, w word) {
		for _, d := range devs {
			if x.d.Load() == d && x.end(w, device.Point{}, endedWithDevice) {
				n++
				return
			}
		}
	})
	return n
}
