package sim

import (
	"sync"
)

// span is one mapping: a slot cut into blocks of one size, or several slots
// that are one large allocation, its only block.
type span struct {
	memory       *memory
	base         uint64 // address
	first, slots int
	shift        uint // log2 of a block's bytes

	mu     sync.Mutex
	bytes  []byte // nil once unmapped
	blocks []block
	head   int // of the list of free blocks, -1 for none
	taken  int // blocks not free
}

// block is the memory of one allocation, one after another.
type block struct {
	state blockState
	pins  int32
	next  int    // in the list of free blocks
	size  uint64 // bytes asked for
	dirty uint64 // bytes from the start that are known not to be fresh
	pool  *pool
}

type blockState uint8

const (
	blockFree    blockState = iota
	blockLive               // allocated
	blockRetired            // its free was submitted; still live for the device
	blockFreed              // its free has run; free when its last pin goes
)

func (s *span) index(p uint64) int { return int((p - s.base) >> s.shift) }

func (s *span) start(i int) uint64 { return uint64(i) << s.shift }

// at is the live block that the range lies in wholly, and where. The caller
// holds mu.
func (s *span) at(p, bytes uint64) (i int, offset uint64, ok bool) {
	i = s.index(p)
	if s.bytes == nil || i >= len(s.blocks) {
		return 0, 0, false
	}
	b := &s.blocks[i]
	if b.state != blockLive && b.state != blockRetired {
		return 0, 0, false
	}
	offset = p - s.base - s.start(i)
	return i, offset, offset <= b.size && bytes <= b.size-offset
}

func (s *span) known(p, bytes uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _, ok := s.at(p, bytes)
	return ok
}

// pin is one use of a block by a command that runs (I5).
type pin struct {
	span  *span
	index int
}

func (s *span) pin(p, bytes uint64) (pin, []byte, *pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, offset, ok := s.at(p, bytes)
	if !ok {
		return pin{}, nil, nil
	}
	b := &s.blocks[i]
	b.pins++
	from := s.start(i) + offset
	return pin{s, i}, s.bytes[from : from+bytes : from+bytes], b.pool
}

func (p pin) release() {
	s := p.span
	s.mu.Lock()
	b := &s.blocks[p.index]
	b.pins--
	idle := b.pins == 0 && b.state == blockFreed
	s.mu.Unlock()
	if idle {
		s.memory.recycle(s, p.index)
	}
}

// get takes a free block, which there is.
func (s *span) get(p *pool, bytes uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.head
	if i >= 0 {
		s.head = s.blocks[i].next
	} else {
		i = len(s.blocks)
		s.blocks = append(s.blocks, block{})
	}
	s.taken++
	b := &s.blocks[i]
	b.state, b.size, b.pool = blockLive, bytes, p
	from := s.start(i)
	if n := junkOf(bytes); b.dirty < n {
		junk(s.bytes[from+b.dirty : from+n])
		b.dirty = n
	}
	return s.base + from
}

func (s *span) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head < 0 && uint64(len(s.blocks)) == uint64(len(s.bytes))>>s.shift
}

func (s *span) retire(p uint64) (*pool, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, offset, ok := s.at(p, 0)
	if !ok || offset != 0 || s.blocks[i].state != blockLive {
		return nil, 0
	}
	s.blocks[i].state = blockRetired
	return s.blocks[i].pool, charged(s.blocks[i].size)
}

func (s *span) free(p uint64) (pool *pool, bytes uint64, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.blocks[s.index(p)]
	b.state = blockFreed
	return b.pool, charged(b.size), b.pins == 0
}

// scribble spoils what a freed block held, so that nobody reads it by luck.
func (s *span) scribble(i int) {
	s.mu.Lock()
	b := s.blocks[i]
	bytes := s.bytes
	s.mu.Unlock()
	junk(bytes[s.start(i) : s.start(i)+junkOf(b.size)])
}

// put makes a block free. It reports whether the span had no room before.
func (s *span) put(i int) (wasFull bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wasFull = s.head < 0 && uint64(len(s.blocks)) == uint64(len(s.bytes))>>s.shift
	b := &s.blocks[i]
	b.state, b.pool, b.next = blockFree, nil, s.head
	s.head = i
	s.taken--
	return wasFull
}

// empty says that no block is in use, nor held by a pin.
func (s *span) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken == 0
}

func (s *span) unmap() {
	s.mu.Lock()
	b := s.bytes
	s.bytes = nil
	s.mu.Unlock()
	unmapBytes(b)
}
