package device

// WaitFor makes what s is given from now on come after p, unless a watermark
// says that it does already. why is for traces. Nothing blocks. Where the error is
// about commands issued earlier, which had to be submitted, the wait is issued all
// the same.
func (s *Stream) WaitFor(p Point, why string) error {
	if p.s == nil || p.s == s || p.Known() || s.waited.upTo(p.s.id) >= p.n {
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
	s.waited.raise(p.s.id, m.n)
	if s.d.trace != nil {
		s.d.trace.Wait(s, s.Next().n, p, why)
	}
	return err
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
