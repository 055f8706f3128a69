package sim

import (
	"slices"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// launch is a kernel as [Steps] runs it: on copies of its arguments' memory, which
// are taken before and written back afterwards, both in pieces. So what is not
// ordered reads what is stale or half written. What the kernel left as it was is not
// written back, except an Out, which is all its own.
type launch struct {
	lent   []lent // what its arguments name, apart and sorted
	before []byte // of all of lent, one after another: as they were read
	after  []byte // and as the kernel leaves them
	live   bool   // it runs on the memory itself: too large, or a kernel that waits
	ran    bool
	asked  bool   // rules were, about this launch
	fiber  *fiber // while a kernel that waits is suspended
}

// lent is a range of memory that one or more arguments name.
type lent struct {
	at, bytes uint64
	own       int  // where it is in before and after
	missing   bool // not all live memory when it was read
	used      bool // the kernel asked for some of it
}

// tearMost is how many bytes of copies a launch or a copy may need.
const tearMost = 4 << 20

func (l *track) beginLaunch() {
	k := &l.launch
	k.lent, k.ran, k.live, k.asked = k.lent[:0], false, false, false
	total := l.borrow()
	if total > tearMost || l.stream.current.items[l.stream.at].function.waits.Load() {
		k.live = true
		return
	}
	k.before = append(k.before[:0], make([]byte, total)...)
	if l.steps.halves {
		l.reads, l.writes = append(l.reads, part{0, total}), append(l.writes, part{0, total})
		return
	}
	reads, writes := uint32(0), uint32(0)
	if l.shape != 0 {
		r := chance(l.shape)
		if r.below(2) == 0 {
			reads = uint32(r.below(1 << 31))
		}
		if r.below(4) != 0 {
			writes = uint32(r.below(1 << 31))
		}
		l.writes = cut(l.writes, total, 1, writes) // at least one step after it ran
	}
	l.reads = cut(l.reads, total, 1, reads)
}

// borrow finds what the arguments name. Ranges that meet are one, so that a kernel
// sees through one argument what it wrote through another.
func (l *track) borrow() (total uint64) {
	k := &l.launch
	for i := range l.cmd.Args() {
		if a := l.cmd.Arg(i); a.Access != cudart.Scalar && a.Bytes > 0 && a.Slot+a.Bytes > a.Slot {
			k.lent = append(k.lent, lent{at: a.Slot, bytes: a.Bytes})
		}
	}
	slices.SortFunc(k.lent, func(a, b lent) int { return int(min(max(int64(a.at-b.at), -1), 1)) })
	apart := k.lent[:0]
	for _, x := range k.lent {
		if n := len(apart); n > 0 && x.at < apart[n-1].at+apart[n-1].bytes {
			last := &apart[n-1]
			last.bytes = max(last.bytes, x.at+x.bytes-last.at)
			continue
		}
		apart = append(apart, x)
	}
	for i := range apart {
		apart[i].own = int(total)
		total += apart[i].bytes
		if total > tearMost {
			break
		}
	}
	k.lent = apart
	return total
}

// advanceLaunch does the next part: write i, or a read where i is negative.
func (l *track) advanceLaunch(it *item, i int) (done bool, lost *loss) {
	k := &l.launch
	if k.live {
		return l.run(it)
	}
	if i < 0 {
		l.take(l.reads[l.next-1])
		if i < -1 {
			return false, nil
		}
	}
	if !k.ran {
		k.ran = true
		k.after = append(k.after[:0], k.before...)
		l.spoil()
		if done, lost = l.run(it); k.live || lost != nil {
			return done, lost
		}
		l.compare(it.function)
		if len(l.writes) == 0 {
			return true, l.give(part{0, uint64(len(k.after))})
		}
		return false, nil
	}
	lost = l.give(l.writes[i])
	return i == len(l.writes)-1, lost
}

// each calls do with the part of each lent range that a piece of them all covers.
func (k *launch) each(p part, do func(x *lent, from, to int)) {
	for i := range k.lent {
		x := &k.lent[i]
		from, to := max(x.own, int(p.from)), min(x.own+int(x.bytes), int(p.from+p.bytes))
		if from < to {
			do(x, from, to)
		}
	}
}

// take reads a piece.
func (l *track) take(p part) {
	k := &l.launch
	k.each(p, func(x *lent, from, to int) {
		if l.load(x.at+uint64(from-x.own), k.before[from:to]) != nil {
			x.missing = true
		}
	})
}

// give writes a piece back.
func (l *track) give(p part) (lost *loss) {
	k := &l.launch
	k.each(p, func(x *lent, from, to int) {
		if !x.used || lost != nil {
			return
		}
		lost = l.with(x.at+uint64(from-x.own), k.after[from:to], func(b []byte) {
			for i := range b {
				if k.after[from+i] != k.before[from+i] {
					b[i] = k.after[from+i]
				}
			}
		})
	})
	for i := range l.cmd.Args() {
		a := l.cmd.Arg(i)
		if a.Access != cudart.Out || lost != nil {
			continue
		}
		k.each(p, func(x *lent, from, to int) {
			lo, hi := max(x.at+uint64(from-x.own), a.Slot), min(x.at+uint64(to-x.own), a.Slot+a.Bytes)
			if x.used && lo < hi && lost == nil {
				own := x.own + int(lo-x.at)
				lost = l.store(lo, k.after[own:own+int(hi-lo)])
			}
		})
	}
	return lost
}

// copyOf is the kernel's copy of a range that an argument names; ok is false for what
// has none.
func (k *launch) copyOf(p, bytes uint64) (b []byte, ok bool) {
	if k.live {
		return nil, false
	}
	for i := range k.lent {
		x := &k.lent[i]
		if p >= x.at && p-x.at <= x.bytes && bytes <= x.bytes-(p-x.at) && !x.missing {
			x.used = true
			from := x.own + int(p-x.at)
			return k.after[from : from+int(bytes) : from+int(bytes)], true
		}
	}
	return nil, false
}

// run calls the kernel's function, or goes on with it. Who waits gets a goroutine of
// its own, on which it can be suspended; that is known when it first does so, and is
// then begun again.
func (l *track) run(it *item) (done bool, lost *loss) {
	s, k := l.stream, &l.launch
	if k.fiber == nil {
		if f := s.sim.faults.Load(); f != nil && !k.asked {
			k.asked = true // who waits is begun twice, and is one launch
			if lost := f.breaks(s, it); lost != nil {
				return true, lost
			}
		}
		if !it.function.waits.Load() {
			lost := s.runKernel(it.function, &l.cmd)
			k.live = k.live || it.function.waits.Load() // begun again, on the memory itself
			return !it.function.waits.Load(), lost
		}
		k.live = true
		k.fiber = newFiber(func() *loss { return s.runKernel(it.function, &l.cmd) })
	}
	done, lost = k.fiber.run()
	if done {
		k.fiber = nil
	}
	l.spun = !done
	return done, lost
}

// yield implements pacer. It comes back when the kernel is resumed.
func (x *Steps) yield(s *stream) {
	l := s.resolver.track
	if l.launch.fiber != nil {
		l.launch.fiber.yield()
		return
	}
	s.current.items[s.at].function.waits.Store(true)
	panic(ended{})
}

// spend implements pacer.
func (x *Steps) spend(_ *stream, d time.Duration) { x.ticks.Add(max(d.Microseconds(), 0)) }

// ended is what a kernel panics with that is begun again, or never ends.
type ended struct{}
