package device

// I8: a stream keeps the blocks that its owner released last to itself for a while: the
// owner takes them again without a lock and without anything else. They become
// visible to others when the owner next submits, or its turn ends.
const (
	hotBlocks = 16
	hotBytes  = 1 << 20 // a larger block is visible at once
)

// Release ends the owner's use of a block of the stream's device, after everything
// issued so far.
func (s *Stream) Release(b *Block) {
	if b.d != s.d || b.bytes > hotBytes || len(s.hot) == hotBlocks {
		b.Release(s.Next())
		return
	}
	s.hot = append(s.hot, b)
}

// takeHot is the last of the kept blocks of a class.
func (s *Stream) takeHot(class int) *Block {
	for i := len(s.hot) - 1; i >= 0; i-- {
		if b := s.hot[i]; b.class == class {
			s.hot = append(s.hot[:i], s.hot[i+1:]...)
			b.last = Point{}
			return b
		}
	}
	return nil
}

// spill lets others see the kept blocks.
func (s *Stream) spill() {
	if len(s.hot) == 0 {
		return
	}
	p := s.Next()
	for i, b := range s.hot {
		b.Release(p)
		s.hot[i] = nil
	}
	s.hot = s.hot[:0]
}

// Unsettled reports whether something is pending that others may wait for: commands
// not submitted, blocks not visible. Flush settles both.
func (s *Stream) Unsettled() bool { return s.list.Len() > 0 || len(s.hot) > 0 }
