package device

import (
	"context"
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

// Block is device memory of one size class.
type Block struct {
	d       *Device
	ptr     cudart.DevicePtr
	bytes   uint64
	class   int
	last    Point // of its last use, once released
	charged bool

	next, prev   *Block // among the released ones of a stream, oldest first
	below, above *Block // the same, of one class; below also links clean ones
	in           *streamBlocks
}

// Ptr is the block's address.
func (b *Block) Ptr() cudart.DevicePtr { return b.ptr }

// Device is whose memory it is.
func (b *Block) Device() *Device { return b.d }

// Ready is the point before which the block may not be used by a stream other
// than the one it was allocated for: the zero Point for most.
func (b *Block) Ready() Point { return b.last }

// streamBlocks are the blocks of one device released on one stream.
type streamBlocks struct {
	s              *Stream
	oldest, newest *Block
	classes        []classTop
	waiting        bool // in the memory's list of holders
}

type classTop struct {
	class int
	top   *Block
	count int
}

// ErrBudget says that the budget is used up for now: waiting for releases helps.
var ErrBudget = errors.New("device: the memory budget is used up")

// BudgetError is a request for more than the whole budget. It is an
// ErrOutOfMemory: no waiting helps.
type BudgetError struct{ Asked, Budget uint64 }

func (e *BudgetError) Error() string {
	return fmt.Sprintf("device: %d bytes asked, the whole budget is %d", e.Asked, e.Budget)
}

func (e *BudgetError) Unwrap() error { return cudart.ErrOutOfMemory }

func (m *memory) open(budget uint64) {
	m.budget = budget
	m.sem = semaphore.NewWeighted(int64(min(budget, 1<<62)))
	m.all = map[*Block]struct{}{}
}

// Alloc takes a block of at least bytes for use by s, on the thread of its owner.
// With elsewhere it will first be used by another stream, and one that is not
// complete on s is the last choice. ErrBudget where it would have to wait.
func (d *Device) Alloc(s *Stream, bytes uint64, elsewhere bool) (*Block, error) {
	if bytes > d.mem.budget || bytes > MaxAlloc {
		return nil, &BudgetError{bytes, d.mem.budget}
	}
	class, size := classOf(bytes)
	size = min(size, d.mem.budget)
	if b := d.mem.cached(s, class, size, elsewhere); b != nil {
		return b, nil
	}
	if err := d.mem.poll(s.d); err != nil {
		return nil, err
	}
	if b := d.mem.cached(s, class, size, elsewhere); b != nil {
		return b, nil
	}
	if !d.mem.mayGrow(class, size) || !d.mem.sem.TryAcquire(int64(size)) {
		return nil, ErrBudget
	}
	return d.mem.grow(s, class, size)
}

// Reserve waits for bytes of the budget, first come first served, until ctx
// ends. AllocReserved then turns them into a block; Unreserve gives them back.
func (d *Device) Reserve(ctx context.Context, bytes uint64) error {
	_, size := classOf(bytes)
	return d.mem.sem.Acquire(ctx, int64(min(size, d.mem.budget)))
}

// AllocReserved is Alloc with bytes that were reserved before.
func (d *Device) AllocReserved(s *Stream, bytes uint64) (*Block, error) {
	class, size := classOf(bytes)
	size = min(size, d.mem.budget)
	d.mem.mu.Lock()
	b := d.mem.takeClean(class)
	d.mem.mu.Unlock()
	if b != nil {
		return b, nil
	}
	return d.mem.grow(s, class, size)
}

// Unreserve gives back what Reserve took.
func (d *Device) Unreserve(bytes uint64) {
	_, size := classOf(bytes)
	d.mem.sem.Release(int64(min(size, d.mem.budget)))
}

// cached takes a block that needs no driver: the one that s released last, or one
// that is complete.
func (m *memory) cached(s *Stream, class int, size uint64, elsewhere bool) *Block {
	m.mu.Lock()
	defer m.mu.Unlock()
	own := m.of(s)
	if !elsewhere {
		if b := own.take(class); b != nil {
			return b
		}
	}
	if m.clean[class] != nil && m.sem.TryAcquire(int64(size)) {
		return m.takeClean(class)
	}
	if elsewhere {
		return own.take(class)
	}
	return nil
}

func (m *memory) takeClean(class int) *Block {
	b := m.clean[class]
	if b != nil {
		m.clean[class], b.below = b.below, nil
		b.charged = true
		m.charged += b.bytes
	}
	return b
}

// take is the newest block of a class, whose last use is in the order of the
// stream that takes it.
func (l *streamBlocks) take(class int) *Block {
	for i := range l.classes {
		if b := l.classes[i].top; l.classes[i].class == class && b != nil {
			l.unlink(b)
			return b
		}
	}
	return nil
}

// growLimit decides how many released blocks of a size may be waiting for the GPU
// before an allocation waits with them instead of taking more memory. A CPU that
// runs ahead of the GPU without end would otherwise reserve without end. Small
// blocks may be many: what keeps a GPU busy is a number of kernels, not of bytes.
func growLimit(size uint64) int {
	if size <= 64<<10 {
		return 64
	}
	return 16
}

func (m *memory) mayGrow(class int, size uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, l := range m.held {
		for i := range l.classes {
			if l.classes[i].class == class {
				n += l.classes[i].count
			}
		}
	}
	return n < growLimit(size)
}

// grow takes a block from the driver, with its bytes of the budget held already.
func (m *memory) grow(s *Stream, class int, size uint64) (*Block, error) {
	if err := m.makeRoom(s, size); err != nil {
		m.sem.Release(int64(size))
		return nil, err
	}
	ptr, point, err := s.alloc(m.d, size)
	if errors.Is(err, cudart.ErrOutOfMemory) {
		// What is cached here may be what is missing.
		if err = m.trim(s, m.budget); err == nil {
			ptr, point, err = s.alloc(m.d, size)
		}
	}
	if err != nil {
		m.mu.Lock()
		m.reserved -= size
		m.mu.Unlock()
		m.sem.Release(int64(size))
		return nil, fmt.Errorf("device: %d bytes on %v: %w", size, m.d, err)
	}
	b := &Block{d: m.d, ptr: ptr, bytes: size, class: class, charged: true, last: point}
	m.mu.Lock()
	m.all[b] = struct{}{}
	m.charged += size
	m.allocs++
	m.mu.Unlock()
	return b, nil
}

// alloc allocates in the order of the stream: it is numbered like a submission.
func (s *Stream) alloc(of *Device, size uint64) (cudart.DevicePtr, Point, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ptr, err := s.d.rt.Alloc(s.d.ctx, of.pool, size, s.h)
	if err != nil {
		return 0, Point{}, err
	}
	n := s.number(nil)
	s.given.Store(n)
	return ptr, Point{s, n}, nil
}

// makeRoom counts size as reserved, and returns free blocks to the driver until
// the budget holds it.
func (m *memory) makeRoom(s *Stream, size uint64) error {
	m.mu.Lock()
	m.reserved += size
	over := m.reserved > m.budget
	need := m.reserved - min(m.reserved, m.budget)
	m.mu.Unlock()
	if !over {
		return nil
	}
	if err := m.trim(s, need); err != nil {
		m.mu.Lock()
		m.reserved -= size
		m.mu.Unlock()
		return err
	}
	return nil
}

// trim frees complete blocks, the largest first, until need bytes are freed or
// none is left. They are freed in the order of s, which need not wait for them.
func (m *memory) trim(s *Stream, need uint64) error {
	for class := classCount - 1; class >= 0 && need > 0; class-- {
		for need > 0 {
			m.mu.Lock()
			b := m.clean[class]
			if b != nil {
				m.clean[class] = b.below
				delete(m.all, b)
				m.reserved -= b.bytes
			}
			m.mu.Unlock()
			if b == nil {
				break
			}
			need -= min(need, b.bytes)
			if err := s.free(b.ptr); err != nil {
				return err
			}
		}
	}
	_, err := s.Flush(false)
	return err
}

func (s *Stream) free(p cudart.DevicePtr) error {
	if s.list.Free(p) {
		return nil
	}
	if err := s.room(); err != nil {
		return err
	}
	s.list.Free(p)
	return nil
}

// Release ends the use of a block at p. It may come from any goroutine.
func (b *Block) Release(p Point) {
	m := &b.d.mem
	m.mu.Lock()
	defer m.mu.Unlock()
	b.last = p
	if p.Known() {
		m.settled(b)
		return
	}
	l := m.of(p.s)
	l.link(b)
	if !l.waiting {
		l.waiting = true
		m.held = append(m.held, l)
	}
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

func (l *streamBlocks) link(b *Block) {
	b.in, b.prev, b.next = l, l.newest, nil
	if l.newest != nil {
		l.newest.next = b
	} else {
		l.oldest = b
	}
	l.newest = b
	for i := range l.classes {
		if c := &l.classes[i]; c.class == b.class {
			b.below, b.above = c.top, nil
			if c.top != nil {
				c.top.above = b
			}
			c.top = b
			c.count++
			return
		}
	}
	b.below, b.above = nil, nil
	l.classes = append(l.classes, classTop{b.class, b, 1})
}

func (l *streamBlocks) unlink(b *Block) {
	if b.prev != nil {
		b.prev.next = b.next
	} else {
		l.oldest = b.next
	}
	if b.next != nil {
		b.next.prev = b.prev
	} else {
		l.newest = b.prev
	}
	if b.below != nil {
		b.below.above = b.above
	}
	for i := range l.classes {
		if c := &l.classes[i]; c.class == b.class {
			c.count--
			if c.top == b {
				c.top = b.below
			} else {
				b.above.below = b.below
			}
			break
		}
	}
	b.next, b.prev, b.below, b.above, b.in = nil, nil, nil, nil, nil
}

// MemoryStats is the state of a device's memory, in bytes.
type MemoryStats struct {
	Budget   uint64
	Reserved uint64 // taken from the driver: in use and cached
	Held     uint64 // of the budget: in use, or released and not known complete
	Allocs   uint64 // how often the driver was asked
}

// Memory reports the state of the device's memory.
func (d *Device) Memory() MemoryStats {
	d.mem.mu.Lock()
	defer d.mem.mu.Unlock()
	return MemoryStats{d.mem.budget, d.mem.reserved, d.mem.charged, d.mem.allocs}
}

// close frees everything, on a stream of its own. Nothing is in use any more.
func (m *memory) close() error {
	m.mu.Lock()
	blocks := make([]*Block, 0, len(m.all))
	for b := range m.all {
		blocks = append(blocks, b)
	}
	clear(m.all)
	clear(m.clean[:])
	m.held, m.reserved, m.charged = nil, 0, 0
	m.mu.Unlock()
	if len(blocks) == 0 {
		return nil
	}
	s, err := m.d.NewStream("close")
	if err != nil {
		return err
	}
	var errs []error
	for _, b := range blocks {
		errs = append(errs, s.free(b.ptr))
	}
	_, err = s.Flush(false)
	errs = append(errs, err, m.d.rt.SynchronizeStream(m.d.ctx, s.h), s.Retire())
	return errors.Join(errs...)
}
