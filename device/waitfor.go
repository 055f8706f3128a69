package device

// WaitFor makes what s is given from now on come after p, unless a watermark
// says that it does already. why is for traces. Nothing blocks. Where the error is
// about commands issued earlier, which had to be submitted, the wait is issued all
// the same.
func (s *Stream) WaitFor(p Point, why string) error {
	if p.s == nil || p.s == s || p.Known() || s.waited[p.s.id] >= p.n {
		return nil
	}
	m, err := p.s.pin(p.n, s.d)
	if err != nil || m == nil {
		return err
	}
	if !s.list.Wait(m.event) {
		err = s.room()
		if !s.list.Wait(m.event) {
			m.pins.Add(-1)
			return err
		}
	}
	s.pinned = append(s.pinned, m)
	if len(s.waited) > 4096 {
		clear(s.waited) // streams long gone; a wait too many is only a wait
	}
	s.waited[p.s.id] = m.n
	if s.d.trace != nil {
		s.d.trace.Wait(s, s.Next().n, p, why)
	}
	return err
}
