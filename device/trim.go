package device

import "github.com/gpuactor/gpuactor/cudart"

// makeRoom counts size as reserved, and returns free blocks to the driver until
// the budget holds it.
func (m *memory) makeRoom(size uint64) error {
	m.mu.Lock()
	m.reserved += size
	over := m.reserved > m.budget
	need := m.reserved - min(m.reserved, m.budget)
	m.mu.Unlock()
	if !over {
		return nil
	}
	if err := m.trim(need); err != nil {
		m.mu.Lock()
		m.reserved -= size
		m.mu.Unlock()
		return err
	}
	return nil
}

// trim frees complete blocks, the largest first, until need bytes are freed or none is
// left, in one submission.
func (m *memory) trim(need uint64) error {
	ptrs := m.forgo(need)
	if len(ptrs) == 0 {
		return nil
	}
	return m.source.give(ptrs...)
}

// forgo takes complete blocks out of the books, the largest first, until they are need
// bytes or none is left.
func (m *memory) forgo(need uint64) (ptrs []cudart.DevicePtr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for class := classCount - 1; class >= 0; class-- {
		for need > 0 && m.clean[class] != nil {
			b := m.clean[class]
			m.clean[class] = b.below
			delete(m.all, b)
			m.reserved -= b.bytes
			need -= min(need, b.bytes)
			ptrs = append(ptrs, b.ptr)
		}
	}
	return ptrs
}
