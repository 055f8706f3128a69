package buffer

import (
	"sync"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/device"
)

// slot is what a handle points to: one buffer after another, told apart by the
// generation.
type slot struct {
	word atomic.Uint64

	// Of the owner, or of the hand-off (B3).
	dev   *device.Block     // device memory, or nil
	host  *device.HostBlock // pinned memory, or nil
	point device.Point      // in flight and Foreign: the giver's; host memory: of its last use by a stream
	held  device.Hold       // in flight: of the event that shows point
	from  uint32            // in flight: the sender
	cause error             // why it is poisoned

	// Read by anybody with a handle, stale or not.
	d     atomic.Pointer[device.Device]
	bytes atomic.Uint64          // as asked for: a multiple of the element
	elem  atomic.Uint32          // the kind of the elements, and pinnedElem
	site  atomic.Pointer[string] // what happened to it last, and where, in debug

	number uint32 // among all of the process, from 1; never changes
	free   *slot
}

func (x *slot) load() word { return word(x.word.Load()) }

// slots are all slots of the process: kept for ever, reused, and walked when an
// owner ends. Owners keep some of the free ones to themselves.
var slots struct {
	mu   sync.Mutex
	free *slot
	all  []*[slabLen]slot
}

const slabLen = 128

// newSlot takes a slot and starts its next life for an owner, o where that has a
// stream. fill sets what it holds, before anybody can see it.
func newSlot(o *Owner, owner uint32, fill func(*slot)) (*slot, uint32) {
	x := o.freeSlot()
	fill(x)
	gen := x.load().gen() + 1
	x.word.Store(uint64(pack(gen, owner, Exclusive)))
	return x, gen
}

// freeSlot takes one that the owner keeps, or some more from all.
func (o *Owner) freeSlot() *slot {
	if o != nil {
		if n := len(o.spare); n > 0 {
			x := o.spare[n-1]
			o.spare = o.spare[:n-1]
			return x
		}
	}
	slots.mu.Lock()
	defer slots.mu.Unlock()
	if o != nil {
		for range keepSlots / 2 {
			o.spare = append(o.spare, takeSlot())
		}
	}
	return takeSlot()
}

// takeSlot takes a slot from all, under the lock.
func takeSlot() *slot {
	if slots.free == nil {
		slab := new([slabLen]slot)
		slots.all = append(slots.all, slab)
		for i := range slab {
			slab[i].number = uint32((len(slots.all)-1)*slabLen + slabLen - i) // the last one is taken first
			slab[i].free, slots.free = slots.free, &slab[i]
		}
	}
	x := slots.free
	slots.free, x.free = x.free, nil
	return x
}

// keepSlots is how many free slots an owner keeps, so that most buffers begin and
// end without a lock.
const keepSlots = 32

// recycle gives a slot back whose life has ended: to the owner that ended it, or to
// all where o is nil. B2: one whose generations are used up is not given back.
func (x *slot) recycle(o *Owner) {
	x.dev, x.host, x.cause, x.point = nil, nil, nil, device.Point{}
	if x.load().gen() >= maxGen {
		return
	}
	if o != nil && len(o.spare) < keepSlots {
		o.spare = append(o.spare, x)
		return
	}
	slots.mu.Lock()
	defer slots.mu.Unlock()
	x.free, slots.free = slots.free, x
	if o != nil {
		o.giveSlots(keepSlots / 2)
	}
}

// giveSlots gives some of the kept slots back to all, under the lock.
func (o *Owner) giveSlots(n int) {
	for range n {
		x := o.spare[len(o.spare)-1]
		o.spare = o.spare[:len(o.spare)-1]
		x.free, slots.free = slots.free, x
	}
}

// step moves the slot from w by e, for owner. It fails where the event is not
// legal, or where the word is not w any more.
func (x *slot) step(w word, e event, owner uint32) bool {
	s, ok := next(w.state(), e)
	return ok && x.word.CompareAndSwap(uint64(w), uint64(pack(w.gen(), owner, s)))
}

// drop lets go of the event that was held for whoever would take the buffer.
func (x *slot) drop() {
	x.held.Drop()
	x.held = device.Hold{}
}

// end frees the slot, and its memory at p. A free slot has no owner, and its word says
// how its last life ended in the owner's place.
func (x *slot) end(w word, p device.Point, how ending) bool {
	if !x.step(w, released, uint32(how)) {
		return false
	}
	x.drop()
	switch {
	case x.dev != nil:
		x.dev.Release(p)
	case x.host != nil:
		x.host.Release(p)
	}
	x.recycle(nil)
	return true
}

// endOwned is end for a buffer that o owns, on o's thread.
func (x *slot) endOwned(w word, o *Owner, how ending) bool {
	if w.state() == Foreign || x.dev == nil {
		return x.end(w, x.point, how) // its owner's stream never touched it, or said when
	}
	if !x.step(w, released, uint32(how)) {
		return false
	}
	o.Stream.Release(x.dev)
	x.recycle(o)
	return true
}

// Issued is part of [device.Written]: what overwrites a poisoned buffer, which
// nothing else may, ends its poison.
func (x *slot) Issued(gen uint32) {
	if w := x.load(); w.gen() == gen && w.state() == Poisoned && x.step(w, overwritten, w.owner()) {
		x.cause = nil
	}
}

// Poison is part of [device.Written]: a write of the slot's life gen failed.
func (x *slot) Poison(gen uint32, cause error) {
	w := x.load()
	if w.gen() != gen || w.state() == Free || w.state() == InFlight {
		return
	}
	if x.step(w, failed, w.owner()) {
		x.cause = cause
	}
}

// Use is part of [device.Memory].
func (x *slot) Use(owner, gen uint32, a cudart.Access) (cudart.DevicePtr, uint64, device.Elem, error) {
	if w := x.load(); w != pack(gen, owner, Exclusive) {
		if err := x.refuse(w, owner, gen, a); err != nil {
			return 0, 0, 0, err
		}
	}
	if x.dev == nil {
		return cudart.DevicePtr(uintptr(x.host.Ptr())), x.bytes.Load(), device.Elem(uint8(x.elem.Load())), nil
	}
	return x.dev.Ptr(), x.bytes.Load(), device.Elem(uint8(x.elem.Load())), nil
}

// refuse says why owner may not use the slot so; nil where it may after all: a
// poisoned buffer may be overwritten in full.
func (x *slot) refuse(w word, owner, gen uint32, a cudart.Access) error {
	if w == pack(gen, owner, Poisoned) {
		if a == cudart.Out {
			return nil // its poison ends when the command has been issued
		}
		return &PoisonError{Buffer: x.describe(w, gen), Cause: x.cause}
	}
	return x.ownership(w, owner, gen)
}

// Live is how many buffers, of devices and pinned, exist in the process.
func Live() (n int) {
	each(func(*slot, word) { n++ })
	return n
}

// each calls f for every slot that is not free.
func each(f func(*slot, word)) {
	slots.mu.Lock()
	all := slots.all[:len(slots.all):len(slots.all)]
	slots.mu.Unlock()
	for _, slab := range all {
		for i := range slab {
			if w := slab[i].load(); w.state() != Free {
				f(&slab[i], w)
			}
		}
	}
}

var _ device.Memory = (*slot)(nil)
