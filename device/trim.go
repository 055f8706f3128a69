package device

import "github.com/gpuactor/gpuactor/cudart"

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
	err := s.room()
	s.list.Free(p) // whatever became of what was issued before: nobody else has the block
	return err
}
