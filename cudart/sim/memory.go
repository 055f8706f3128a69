package sim

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
)

// A device address has a one in bit 56, the device in bits 44–55 and an offset
// below. No processor that Go runs on takes it for an address of its own.
const (
	addressMark = 1 << 56
	offsetBits  = 44

	slotBits  = 25 // a device's addresses are divided into slots of 32 MiB
	slotsIn   = 512
	slotPages = 1024
	slots     = slotsIn * slotPages

	maxMemory = uint64(slots) << slotBits / 2

	alignBits  = 9                      // addresses are multiples of 512
	smallest   = alignBits              // blocks of 512 bytes,
	largest    = slotBits - 1           // 1024, … 16 MiB are cut from slots; above,
	classes    = largest - smallest + 1 // an allocation has slots of its own
	largeShift = 63
)

// memory is the memory of a device: addresses, the bytes behind them, and the
// count of what is taken.
type memory struct {
	ordinal int
	base    uint64
	limit   uint64 // bytes

	// Finding an address takes no lock.
	pages [slotPages]atomic.Pointer[[slotsIn]atomic.Pointer[span]]

	mu       sync.Mutex
	reserved uint64           // by all pools
	room     [classes][]*span // those with a free block
	next     int              // slot where the search for free ones begins: the longest unused
}

func newMemory(ordinal int, limit uint64) *memory {
	return &memory{ordinal: ordinal, base: addressMark | uint64(ordinal)<<offsetBits, limit: limit}
}

// memoryOf is the memory that an address is in.
func (r *simulator) memoryOf(p uint64) (*memory, bool) {
	if d := p >> offsetBits & 0xfff; p>>56 == 1 && d < uint64(len(r.devices)) {
		return r.devices[d].memory, true
	}
	return nil, false
}

func (m *memory) slot(i int) *span {
	if i >= slots {
		return nil
	}
	page := m.pages[i/slotsIn].Load()
	if page == nil {
		return nil
	}
	return page[i%slotsIn].Load()
}

func (m *memory) setSlot(i int, s *span) {
	page := m.pages[i/slotsIn].Load()
	if page == nil {
		page = new([slotsIn]atomic.Pointer[span])
		m.pages[i/slotsIn].Store(page)
	}
	page[i%slotsIn].Store(s)
}

// spanAt is the span that an address is in, nil for none.
func (m *memory) spanAt(p uint64) *span { return m.slot(int((p - m.base) >> slotBits)) }

// pin finds live memory and keeps it mapped until the pin is released. The
// bytes are nil where the range is not wholly inside one allocation.
func (m *memory) pin(p, bytes uint64) (pin, []byte, *pool) {
	s := m.spanAt(p)
	if s == nil {
		return pin{}, nil, nil
	}
	return s.pin(p, bytes)
}

// known says whether a range is inside memory whose free has not run.
func (m *memory) known(p, bytes uint64) bool {
	s := m.spanAt(p)
	return s != nil && s.known(p, bytes)
}

// retire marks memory as about to be freed, when its free is submitted. It is
// false for what is not the start of live memory.
func (m *memory) retire(p uint64) bool {
	s := m.spanAt(p)
	if s == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	pool, bytes := s.retire(p)
	if pool == nil {
		return false
	}
	pool.freeing += bytes
	return true
}

// free runs the free of memory that was retired.
func (m *memory) free(p uint64) {
	s := m.spanAt(p)
	m.mu.Lock()
	pool, bytes, idle := s.free(p)
	pool.freeing -= bytes
	pool.used -= bytes
	if pool.destroyed {
		pool.keep(0)
	}
	m.mu.Unlock()
	if idle {
		m.recycle(s, s.index(p))
	}
}

// recycle makes a block that was freed, and that nobody has a pin on, ready
// for reuse. Until it is in its span's list it is the caller's alone.
func (m *memory) recycle(s *span, i int) {
	if s.shift == largeShift {
		m.mu.Lock()
		for k := range s.slots {
			m.setSlot(s.first+k, nil)
		}
		m.mu.Unlock()
		s.unmap()
		return
	}
	s.scribble(i)
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.put(i) {
		c := s.shift - smallest
		m.room[c] = append(m.room[c], s)
	}
}

// allocate takes bytes for a pool that has been charged for them. The caller
// holds mu.
func (m *memory) allocate(p *pool, bytes uint64) (uint64, error) {
	if bytes > 1<<largest {
		s, err := m.newSpan(largeShift, bytes)
		if err != nil {
			return 0, err
		}
		return s.get(p, bytes), nil
	}
	c := max(bits.Len64(bytes-1), smallest) - smallest
	if len(m.room[c]) == 0 {
		s, err := m.newSpan(uint(c+smallest), 1<<slotBits)
		if err != nil {
			return 0, err
		}
		m.room[c] = append(m.room[c], s)
	}
	last := len(m.room[c]) - 1
	s := m.room[c][last]
	addr := s.get(p, bytes)
	if s.full() {
		m.room[c][last] = nil
		m.room[c] = m.room[c][:last]
	}
	return addr, nil
}

// newSpan maps bytes at the slots that have been free for longest, so that a
// stale address of a large allocation is not soon another's.
func (m *memory) newSpan(shift uint, bytes uint64) (*span, error) {
	n := int((bytes + 1<<slotBits - 1) >> slotBits)
	first, ok := m.findSlots(n)
	if !ok {
		return nil, cudart.ErrOutOfMemory
	}
	b, err := mapBytes(bytes)
	if err != nil {
		return nil, err
	}
	s := &span{memory: m, base: m.base + uint64(first)<<slotBits, first: first, slots: n, shift: shift, bytes: b, head: -1}
	for k := range n {
		m.setSlot(first+k, s)
	}
	m.next = first + n
	return s, nil
}

func (m *memory) findSlots(n int) (first int, ok bool) {
	run := 0
	for k := range slots + n {
		i := (m.next + k) % slots
		if i == 0 {
			run = 0 // a run does not go around
		}
		if m.slot(i) != nil {
			run = 0
			continue
		}
		if run++; run == n {
			return i - n + 1, true
		}
	}
	return 0, false
}

// trim unmaps slots of blocks that are all free. The caller holds mu.
func (m *memory) trim() {
	for c, spans := range m.room {
		kept := spans[:0]
		for _, s := range spans {
			if !s.empty() {
				kept = append(kept, s)
				continue
			}
			m.setSlot(s.first, nil)
			s.unmap()
		}
		clear(spans[len(kept):])
		m.room[c] = kept
	}
}

// close unmaps everything; no command runs any more.
func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range m.pages {
		page := m.pages[p].Load()
		if page == nil {
			continue
		}
		for i := range page {
			if s := page[i].Load(); s != nil && s.first == p*slotsIn+i {
				s.unmap()
			}
			page[i].Store(nil)
		}
	}
}
