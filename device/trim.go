package device

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
// left.
func (m *memory) trim(need uint64) error {
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
			if err := m.source.give(b.ptr); err != nil {
				return err
			}
		}
	}
	return nil
}
