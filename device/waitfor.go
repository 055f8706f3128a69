package device

// WaitFor makes what s is given from now on come after p, unless a watermark
// says that it does already. why is for traces. Nothing blocks. Where the error is
// about commands issued earlier, which had to be submitted, the wait is issued all
// the same.
func (s *Stream) WaitFor(p Point, why string) error {
	if s.covers(p) {
		return nil
	}
	m, err := p.s.pin(p.n, s.d)
	if err != nil || m == nil {
		return err
	}
	return s.waitBy(m, p, why)
}

// WaitForHeld is WaitFor for a point whose event its stream held for it; it lets go of
// the hold. So a receiver touches neither the sender's lock nor its list of marks.
func (s *Stream) WaitForHeld(p Point, h Hold, why string) error {
	switch {
	case h.m == nil:
		return s.WaitFor(p, why)
	case s.covers(p):
		h.Drop()
		return nil
	}
	return s.waitBy(h.m, p, why)
}

// covers reports whether what s is given from now on comes after p without a wait.
func (s *Stream) covers(p Point) bool {
	return p.s == nil || p.s == s || p.Known() || s.waited.upTo(p.s.id) >= p.n
}

// waitBy issues the wait for p by a mark that is pinned for it.
func (s *Stream) waitBy(m *mark, p Point, why string) (err error) {
	if !s.list.Wait(m.event) {
		err = s.room()
		if !s.list.Wait(m.event) {
			m.pins.Add(-1)
			return err
		}
	}
	s.pinned = append(s.pinned, m)
	s.waited.raise(p.s.id, m.n)
	if s.d.trace != nil {
		s.d.trace.Wait(s, s.Next().n, p, why)
	}
	return err
}

// Hold keeps an event from being recorded again until somebody has waited for it, or
// drops it: exactly one of both. The zero Hold holds nothing.
type Hold struct{ m *mark }

// Hold holds the event that shows p, one of the stream's own points, for n who will
// wait for it. Where none stands the zero Hold comes back, and who waits finds or
// makes one. The owner's thread calls it.
func (s *Stream) Hold(p Point, n int) Hold {
	s.marksMu.Lock()
	defer s.marksMu.Unlock()
	k := len(s.marks)
	if k == 0 || s.marks[k-1].n < p.n {
		return Hold{}
	}
	m := s.marks[k-1]
	if m.n != p.n {
		m, _ = s.find(p.n)
	}
	if m == nil {
		return Hold{}
	}
	m.pins.Add(int32(n))
	return Hold{m}
}

// Drop lets go of the event without a wait. Any goroutine may call it.
func (h Hold) Drop() {
	if h.m != nil {
		h.m.pins.Add(-1)
	}
}

// waits says, for other streams by their ids, the highest number already waited
// for. The few streams that hand over most are found without hashing.
type waits struct {
	recent [4]waited
	next   int
	others map[uint32]uint64
}

type waited struct {
	id uint32
	n  uint64
}

func (w *waits) upTo(id uint32) uint64 {
	for i := range w.recent {
		if w.recent[i].id == id {
			return w.recent[i].n
		}
	}
	return w.others[id]
}

func (w *waits) raise(id uint32, n uint64) {
	for i := range w.recent {
		if w.recent[i].id == id {
			w.recent[i].n = n
			return
		}
	}
	out := &w.recent[w.next]
	w.next = (w.next + 1) % len(w.recent)
	if out.id != 0 {
		if w.others == nil || len(w.others) > 4096 {
			w.others = map[uint32]uint64{} // streams long gone; a wait too many is only a wait
		}
		w.others[out.id] = out.n
	}
	*out = waited{id, n}
}
