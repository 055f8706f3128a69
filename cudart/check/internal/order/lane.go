package order

import "slices"

// lane is the accesses of a kind by one stream to the same bytes, ascending.
type lane struct {
	s     *Stream
	reads bool // or else writes, an allocation among them
	had   []*access
}

// lanes are what bytes have had. None of them is empty.
type lanes []lane

// against compares a with what bytes have had, and is what of that the host does not
// know complete.
func (e *Engine) against(b *Buffer, all lanes, a *access) lanes {
	kept := all[:0]
	for _, l := range all {
		if l.forget(); len(l.had) == 0 {
			continue
		}
		kept = append(kept, l)
		if l.s == a.cmd.Stream || l.reads && a.act == Read {
			continue
		}
		upTo := a.cmd.upTo(l.s)
		for i := len(l.had) - 1; i >= 0 && l.had[i].cmd.N > upTo; i-- {
			e.pair(Race, l.had[i], a, b)
		}
	}
	clear(all[len(kept):])
	return kept
}

// forget drops what the host knows complete.
func (l *lane) forget() {
	known := 0
	for known < len(l.had) && l.had[known].cmd.N <= l.s.known {
		known++
	}
	l.had = slices.Delete(l.had, 0, known)
}

// add appends an access of a stream, and forgets an older one of its kind where there
// are most already (O2).
func (all lanes) add(a *access, most int) lanes {
	for i := range all {
		if l := &all[i]; l.s == a.cmd.Stream && l.reads == (a.act == Read) {
			if len(l.had) >= most {
				l.had = slices.Delete(l.had, 0, 1)
			}
			l.had = append(l.had, a)
			return all
		}
	}
	return append(all, lane{a.cmd.Stream, a.act == Read, []*access{a}})
}

func (all lanes) clone() lanes {
	c := slices.Clone(all)
	for i := range c {
		c[i].had = slices.Clone(c[i].had)
	}
	return c
}

func (all lanes) equal(other lanes) bool {
	return slices.EqualFunc(all, other, func(a, b lane) bool {
		return a.s == b.s && a.reads == b.reads && slices.Equal(a.had, b.had)
	})
}

// upTo is the number of s, another stream, that c comes after.
func (c *Command) upTo(s *Stream) uint64 {
	if c.Stream == nil {
		return s.known
	}
	return max(s.known, c.Stream.after.upTo(s))
}
