package device

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/gpuactor/gpuactor/cudart"
)

// memory caches device memory in blocks above one driver pool.
//
// I3: a released block carries the point of its last use. The stream of that
// point may take it again at once, since stream order is enough; anybody else
// gets it only when the point is known complete. So reuse never makes one
// stream wait for another.
//
// I4: bytes of the budget are held by a block from its allocation until its
// last use has completed, and what is reserved from the driver never exceeds
// the budget: free blocks are returned to the driver before that.
type memory struct {
	d      *Device
	source source
	budget uint64
	sem    *semaphore.Weighted

	mu       sync.Mutex
	clean    [classCount]*Block // complete, of no stream
	held     []*streamBlocks    // of streams with released blocks whose last use is not known complete
	all      map[*Block]struct{}
	reserved uint64 // bytes from the driver
	charged  uint64 // bytes of the budget held by blocks
	allocs   uint64 // allocations made by the driver
}

func (m *memory) open(budget uint64) {
	m.budget = budget
	m.sem = semaphore.NewWeighted(int64(min(budget, 1<<62)))
	m.all = map[*Block]struct{}{}
}

// settled makes a block free for everybody, under mu.
func (m *memory) settled(b *Block) {
	if b.charged {
		b.charged = false
		m.charged -= b.bytes
		m.sem.Release(int64(b.bytes))
	}
	b.last = Point{}
	b.below, m.clean[b.class] = m.clean[b.class], b
}

// settle frees the blocks whose last use the watermark of s covers.
func (m *memory) settle(s *Stream) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settleList(m.of(s))
}

func (m *memory) settleList(l *streamBlocks) {
	for b := l.oldest; b != nil && b.last.Known(); b = l.oldest {
		l.unlink(b)
		m.settled(b)
	}
}

// of is the list of s in this memory. A stream has its own in its own device's;
// in another device's it is rare, and searched.
func (m *memory) of(s *Stream) *streamBlocks {
	if s.d == m.d {
		s.blocks.s = s
		return &s.blocks
	}
	for _, l := range m.held {
		if l.s == s {
			return l
		}
	}
	return &streamBlocks{s: s}
}

// poll asks the streams that hold released blocks how far they have come. cur is
// the device whose context is current on the caller's thread.
func (m *memory) poll(cur *Device) error {
	m.mu.Lock()
	n := len(m.held)
	m.mu.Unlock()
	var errs []error
	for i := range n {
		m.mu.Lock()
		var l *streamBlocks
		var p Point
		if i < len(m.held) {
			if l = m.held[i]; l.oldest != nil {
				p = l.oldest.last
			}
		}
		m.mu.Unlock()
		if p.s == nil || p.n > p.s.given.Load() {
			continue // nothing, or not submitted yet
		}
		if _, err := p.Done(cur); err != nil {
			errs = append(errs, err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := m.held[:0]
	for _, l := range m.held {
		m.settleList(l)
		if l.waiting = l.oldest != nil; l.waiting {
			kept = append(kept, l)
		}
	}
	clear(m.held[len(kept):])
	m.held = kept
	return errors.Join(errs...)
}

// PollMemory asks how far the releases of the device's memory have come. cur is
// the device whose context is current on the caller's thread, nil for none.
func (d *Device) PollMemory(cur *Device) error { return d.mem.poll(cur) }

// MemoryStats is the state of a device's memory, in bytes.
type MemoryStats struct {
	Budget   uint64 // what may be held and reserved at most
	Reserved uint64 // taken from the driver: in use and cached
	Held     uint64 // of the budget: in use, or released and not known complete
	Allocs   uint64 // how often the driver was asked
}

// String is how much of the budget is held: "1.5 GiB of 8 GiB held".
func (m MemoryStats) String() string {
	return fmt.Sprintf("%v of %v held", size(m.Held), size(m.Budget))
}

// Memory reports the state of the device's memory.
func (d *Device) Memory() MemoryStats {
	d.mem.mu.Lock()
	defer d.mem.mu.Unlock()
	return MemoryStats{d.mem.budget, d.mem.reserved, d.mem.charged, d.mem.allocs}
}

// close frees everything. Nothing is in use any more.
func (m *memory) close() error {
	m.mu.Lock()
	ptrs := make([]cudart.DevicePtr, 0, len(m.all))
	for b := range m.all {
		ptrs = append(ptrs, b.ptr)
	}
	clear(m.all)
	clear(m.clean[:])
	m.held, m.reserved, m.charged = nil, 0, 0
	m.mu.Unlock()
	return errors.Join(m.source.giveHere(ptrs), m.source.close())
}
