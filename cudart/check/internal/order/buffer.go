package order

import "slices"

// Buffer is one life of an allocation: memory that is allocated again at the same
// address is another buffer.
type Buffer struct {
	Name  string
	Bytes uint64

	parts []part    // ascending, disjoint, those without accesses left out
	frees []*access // O4
}

// access is what a command does to [from, to) of a buffer.
type access struct {
	cmd      *Command
	act      Act
	from, to uint64
}

// part is a range whose bytes have had the same accesses, those that the host knows
// complete left out.
type part struct {
	from, to uint64
	lanes    lanes
}

// NewBuffer is memory that everything issued from now on comes after.
func (e *Engine) NewBuffer(name string, bytes uint64) *Buffer {
	return &Buffer{Name: name, Bytes: bytes}
}

// Freed reports whether a free of it has been issued.
func (b *Buffer) Freed() bool { return len(b.frees) > 0 }

// touch compares an access of c with all that the bytes have had, and remembers it.
func (e *Engine) touch(c *Command, in Access) {
	b := in.Buffer
	if in.Off >= b.Bytes || in.Bytes == 0 {
		return
	}
	a := &access{c, in.Act, in.Off, in.Off + min(in.Bytes, b.Bytes-in.Off)}
	for _, f := range b.frees {
		switch {
		case f.cmd == c:
		case c.after(f.cmd.tick()):
			e.pair(UseAfterFree, f, a, b)
		default:
			e.pair(Race, f, a, b)
		}
	}
	switch {
	case a.act == Free:
		e.compare(b, a)
		if len(b.frees) == e.o.History {
			b.frees = slices.Delete(b.frees, 1, 2) // the first one is the cause
		}
		b.frees = append(b.frees, a)
	case c.Stream == nil: // complete, and before all that comes
		e.compare(b, a)
	default:
		e.keep(b, a)
	}
}

// compare compares a with the parts that it touches.
func (e *Engine) compare(b *Buffer, a *access) {
	first, last := b.touched(a)
	for i := first; i < last; i++ {
		b.parts[i].lanes = e.against(b, b.parts[i].lanes, a)
	}
	b.sweep(first, last)
}

// touched are the parts, first to last (without last), that overlap with a.
func (b *Buffer) touched(a *access) (first, last int) {
	first, _ = slices.BinarySearchFunc(b.parts, a.from, func(p part, at uint64) int {
		if p.to <= at {
			return -1
		}
		return 1
	})
	for last = first; last < len(b.parts) && b.parts[last].from < a.to; last++ {
	}
	return first, last
}

// keep compares a, and adds it to what its bytes have had: parts are split at its ends,
// and made where there are none.
func (e *Engine) keep(b *Buffer, a *access) {
	first, last := b.touched(a)
	if last == first+1 && b.parts[first].from == a.from && b.parts[first].to == a.to {
		p := &b.parts[first]
		p.lanes = e.against(b, p.lanes, a).add(a, e.o.History)
		return
	}
	var now []part
	at := a.from // up to here done
	for _, p := range b.parts[first:last] {
		if p.from < a.from {
			now = append(now, part{p.from, a.from, p.lanes.clone()})
			p.from = a.from
		}
		if at < p.from {
			now = append(now, part{at, p.from, lanes(nil).add(a, e.o.History)})
		}
		end := p
		p.to = min(p.to, a.to)
		if p.to < end.to {
			end = part{p.to, end.to, p.lanes.clone()}
		} else {
			end.lanes = nil
		}
		now = append(now, part{p.from, p.to, e.against(b, p.lanes, a).add(a, e.o.History)})
		if end.lanes != nil {
			now = append(now, end)
		}
		at = p.to
	}
	if at < a.to {
		now = append(now, part{at, a.to, lanes(nil).add(a, e.o.History)})
	}
	b.parts = slices.Replace(b.parts, first, last, now...)
	b.sweep(first, first+len(now))
}

// sweep puts neighbours that have had the same together, and drops parts that the host
// knows to be at rest, from the one before first to the one at last.
func (b *Buffer) sweep(first, last int) {
	from := max(first-1, 0)
	to := min(last+1, len(b.parts))
	kept := b.parts[:from]
	for _, p := range b.parts[from:to] {
		if n := len(kept); n > from && kept[n-1].to == p.from && kept[n-1].lanes.equal(p.lanes) {
			kept[n-1].to = p.to
			continue
		}
		if len(p.lanes) > 0 {
			kept = append(kept, p)
		}
	}
	b.parts = slices.Delete(b.parts, len(kept), to)
}
