package order

// tick is a place in a stream. One of the host, without a stream, is known complete.
type tick struct {
	s *Stream
	n uint64
}

// known reports whether the host knows it complete, so that all that is issued later
// comes after it.
func (t tick) known() bool { return t.s == nil || t.n <= t.s.known }

// clock is the numbers up to which streams are behind something, by the streams' ids,
// ascending. It is never changed once made. What the host knows may be left out.
type clock []tick

// upTo is the number that the clock has for a stream.
func (c clock) upTo(s *Stream) uint64 {
	lo, hi := 0, len(c)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if c[m].s.id < s.id {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(c) && c[lo].s == s {
		return c[lo].n
	}
	return 0
}

// has reports whether what has the clock comes after t.
func (c clock) has(t tick) bool { return t.known() || c.upTo(t.s) >= t.n }

// join is the clock that has what a and b have, but for what the host knows, and but
// for those of self, which is a stream's own clock.
func join(a, b clock, self *Stream) clock {
	if len(b) == 0 {
		return a
	}
	out := make(clock, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		var t tick
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].s.id < b[0].s.id:
			t, a = a[0], a[1:]
		case len(a) == 0 || b[0].s.id < a[0].s.id:
			t, b = b[0], b[1:]
		default:
			t = tick{a[0].s, max(a[0].n, b[0].n)}
			a, b = a[1:], b[1:]
		}
		if t.s != self && !t.known() {
			out = append(out, t)
		}
	}
	return out
}

// moment is everything that a stream had been given, and what that comes after.
type moment struct {
	at    tick
	after clock
}

// learn has the host know that a moment has passed (O1).
func (m moment) learn() {
	if m.at.s != nil {
		if m.at.known() {
			return
		}
		m.at.s.known = m.at.n
	}
	for _, t := range m.after {
		t.s.known = max(t.s.known, t.n)
	}
}
