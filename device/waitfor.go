package device

// WaitFor makes what s is given from now on come after p, unless a watermark
// says that it does already. why is for traces. Nothing blocks.
func (s *Stream) WaitFor(p Point, why string) error {
	if p.s == nil || p.s == s || p.Known() || s.waited[p.s.id] >= p.n {
		return nil
	}
	m, err := p.s.pin(p.n, s.d)
	if err != nil || m == nil {
		return err
	}
	if !s.list.Wait(m.event) {
		if err := s.room(); err != nil {
			m.pins.Add(-1)
			return err
		}
		s.list.Wait(m.event)
	}
	s.pinned = append(s.pinned, m)
	if len(s.waited) > 4096 {
		clear(s.waited) // streams long gone; a wait too many is only a wait
	}
	s.waited[p.s.id] = m.n
	if s.d.trace != nil {
		s.d.trace.Wait(s, s.Next().n, p, why)
	}
	return nil
}
