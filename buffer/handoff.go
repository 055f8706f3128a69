package buffer

import (
	"fmt"

	"github.com/gpuactor/gpuactor/device"
)

// CanGive checks that an owner may hand over all of the buffers, and that none of
// them is listed twice. A nil owner is an ordinary goroutine.
func CanGive(o *Owner, hs *Handles) error {
	id := idOf(o)
	for i, h := range hs.list {
		w := h.x.load()
		if w.gen() != h.gen || w.owner() != id || w.state() == Free || w.state() == InFlight {
			return h.x.ownership(w, id, h.gen)
		}
		for _, other := range hs.list[:i] {
			if other == h {
				return fmt.Errorf("buffer: %s is handed over twice in one value", h.x.describe(w, h.gen))
			}
		}
	}
	return nil
}

// Ordered reports whether taking any of the buffers could need an event: whether
// one of them was last used by the giver's stream, or is device memory it owns.
func Ordered(hs *Handles) bool {
	for _, h := range hs.list {
		if h.x.dev != nil && h.x.load().state() != Foreign || h.x.host != nil && h.x.point.Stream() != nil {
			return true
		}
	}
	return false
}

// Give hands buffers over that CanGive has passed: they are in flight, with p, the
// giver's point, behind which everything that it did to them lies. A nil owner is
// an ordinary goroutine.
func Give(o *Owner, hs *Handles, p device.Point) {
	id := idOf(o)
	for _, h := range hs.list {
		w := h.x.load()
		if w.state() != Foreign && h.x.dev != nil {
			h.x.point = p // a Foreign one was not touched here: it keeps its giver's
			h.x.held = o.Stream.Hold(p, 1)
		}
		h.x.from = id
		h.x.mark("given away at ")
		if !h.x.step(w, sent, id) {
			panic(fmt.Sprintf("buffer: %s changed hands while it was being given", h.x.describe(w, h.gen)))
		}
	}
}

// Take makes o the owner of buffers in flight. What o's stream is given from now on
// comes after the givers' work on device memory; nothing blocks. Where such a
// wait is refused the buffers are o's all the same, and the error says so.
func Take(o *Owner, hs *Handles) error {
	var first error
	for _, h := range hs.list {
		w := h.x.load()
		if w.gen() != h.gen || w.state() != InFlight {
			return h.x.ownership(w, o.ID, h.gen)
		}
		e, wait := h.x.arrival(o)
		if wait {
			held := h.x.held
			h.x.held = device.Hold{}
			if err := o.Stream.WaitForHeld(h.x.point, held, "hand-off"); err != nil && first == nil {
				first = fmt.Errorf("buffer: taking %s: %w", h.x.describe(w, h.gen), err)
			}
		} else {
			h.x.drop()
		}
		h.x.step(w, e, o.ID)
	}
	return first
}

// arrival decides what a buffer becomes in o's hands, and whether o's stream waits.
func (x *slot) arrival(o *Owner) (e event, wait bool) {
	switch {
	case x.dev != nil && x.dev.Device() != o.Stream.Device():
		return receivedAway, false // its stream never touches it; the pull waits
	case x.cause != nil:
		// What was read of it before may still be read: an overwriting waits for that.
		return receivedBad, x.host == nil
	case x.host != nil:
		return received, false // see Host: its point is kept until it is used
	}
	return received, true
}

// TakeHere makes an ordinary goroutine the owner of pinned memory in flight: of all
// of it, or on an error of none.
func TakeHere(hs *Handles) error {
	for _, h := range hs.list {
		w := h.x.load()
		switch {
		case w.gen() != h.gen || w.state() != InFlight:
			return h.x.ownership(w, hostID, h.gen)
		case h.x.dev != nil:
			return ErrNoStream
		}
	}
	for _, h := range hs.list {
		e := received
		if h.x.cause != nil {
			e = receivedBad
		}
		h.x.step(h.x.load(), e, hostID)
	}
	return nil
}

// Return gives undelivered buffers back to the one who sent them, as they were
// before. Those of a sender that has ended are left in flight: see Drop.
func Return(hs *Handles) {
	for _, h := range hs.list {
		w := h.x.load()
		if w.gen() != h.gen || w.state() != InFlight {
			continue
		}
		e := received
		switch from := ownerOf(h.x.from); {
		case from != nil:
			e, _ = h.x.arrival(from) // its own point: there is nothing to wait for
			h.x.drop()
		case h.x.from != hostID:
			continue
		case h.x.cause != nil:
			e = receivedBad
		}
		h.x.step(w, e, h.x.from)
	}
}

// Drop releases undelivered buffers: their memory is free when the giver's work on
// it is done. It reports how many that were.
func Drop(hs *Handles) int {
	n := 0
	for _, h := range hs.list {
		if w := h.x.load(); w.gen() == h.gen && w.state() == InFlight && h.x.end(w, h.x.point, endedDropped) {
			n++
		}
	}
	return n
}

// OwnerOf is the identity that the first of the buffers belongs to; 0 for none.
func OwnerOf(hs *Handles) uint32 {
	for _, h := range hs.list {
		if w := h.x.load(); w.gen() == h.gen && w.state() != Free && w.state() != InFlight {
			return w.owner()
		}
	}
	return 0
}

func idOf(o *Owner) uint32 {
	if o == nil {
		return hostID
	}
	return o.ID
}

// Source is a buffer as a copy between devices sees it.
type Source struct {
	Dev   *device.Device // whose memory it is
	After device.Point   // the copy comes after it
	Block *device.Block  // the memory
	Bytes uint64         // how much of it, from its beginning
}

// Pulling checks that o may pull the buffer, and describes it.
func (h Handle) Pulling(o *Owner) (Source, error) {
	if h.x == nil {
		return Source{}, missing.ownership(0, o.ID, 0)
	}
	w := h.x.load()
	if w != pack(h.gen, o.ID, Foreign) && w != pack(h.gen, o.ID, Poisoned) {
		return Source{}, h.x.ownership(w, o.ID, h.gen)
	}
	if h.x.cause != nil {
		return Source{}, &PoisonError{h.x.describe(w, h.gen), h.x.cause}
	}
	return Source{h.x.d.Load(), h.x.point, h.x.dev, h.x.bytes.Load()}, nil
}

// Pulled ends a foreign buffer whose content has been copied away: its memory is
// free after end, the copy's.
func (h Handle) Pulled(o *Owner, end device.Point) {
	if w := h.x.load(); w == pack(h.gen, o.ID, Foreign) {
		h.x.mark("pulled at ")
		h.x.end(w, end, endedPulled)
	}
}

// Block is the device memory behind a buffer that o owns exclusively.
func (h Handle) Block() *device.Block { return h.x.dev }

// Owned reports whether o owns the buffer exclusively, on its own device.
func (h Handle) Owned(o *Owner) bool {
	return h.x != nil && h.x.load() == pack(h.gen, o.ID, Exclusive)
}
