package device

import (
	"errors"
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
)

// Alloc takes a block of at least bytes for use by s, on the thread of its owner.
// With elsewhere it will first be used by another stream, and one that is not
// complete on s is the last choice. ErrBudget where it would have to wait.
func (d *Device) Alloc(s *Stream, bytes uint64, elsewhere bool) (*Block, error) {
	if bytes > d.mem.budget || bytes > MaxAlloc {
		return nil, &BudgetError{bytes, d.mem.budget}
	}
	class, size := classOf(bytes)
	size = min(size, d.mem.budget)
	if elsewhere {
		s.spill()
	} else if b := s.takeHot(class); b != nil {
		return b, nil
	}
	if b := d.mem.cached(s, class, size, elsewhere); b != nil {
		return b, nil
	}
	if d.mem.incomplete(class) < pollAt(size) && d.mem.sem.TryAcquire(int64(size)) {
		return d.mem.grow(class, size)
	}
	if err := d.mem.poll(s.d); err != nil {
		return nil, err
	}
	if b := d.mem.cached(s, class, size, elsewhere); b != nil {
		return b, nil
	}
	if d.mem.incomplete(class) >= growLimit(size) || !d.mem.sem.TryAcquire(int64(size)) {
		return nil, ErrBudget
	}
	return d.mem.grow(class, size)
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

// pollAt decides how many there must be before an allocation asks the driver which
// of them are complete. Asking costs a record and a query for each stream that
// holds some, so small blocks are let come together, up to 1 MiB in all.
func pollAt(size uint64) int { return int(min(max(1<<20/size, 1), 16)) }

// incomplete is how many released blocks of a class wait for the GPU.
func (m *memory) incomplete(class int) int {
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
	return n
}

// grow takes a block from the driver, with its bytes of the budget held already.
func (m *memory) grow(class int, bytes uint64) (*Block, error) {
	if err := m.makeRoom(bytes); err != nil {
		m.sem.Release(int64(bytes))
		return nil, err
	}
	ptr, err := m.source.take(bytes)
	if errors.Is(err, cudart.ErrOutOfMemory) {
		// What is cached here may be what is missing.
		if err = m.trim(m.budget); err == nil {
			ptr, err = m.source.take(bytes)
		}
	}
	if err != nil {
		m.mu.Lock()
		m.reserved -= bytes
		m.mu.Unlock()
		m.sem.Release(int64(bytes))
		return nil, fmt.Errorf("device: %v on %v: %w", size(bytes), m.d, err)
	}
	b := &Block{d: m.d, ptr: ptr, bytes: bytes, class: class, charged: true}
	m.mu.Lock()
	m.all[b] = struct{}{}
	m.charged += bytes
	m.allocs++
	m.mu.Unlock()
	return b, nil
}
