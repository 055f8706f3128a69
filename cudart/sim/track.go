package sim

import (
	"slices"

	"github.com/gpuactor/gpuactor/cudart"
)

// track is a stream as [Steps] runs it: a command is some steps.
type track struct {
	steps  *Steps
	stream *stream

	held  bool // at a wait that is not over
	spun  bool // its kernel waits for something, and nothing has happened since
	busy  bool // the command at the head has begun
	shape uint32

	cmd    cudart.Command
	reads  []part // pieces that are read into memory of the track's own
	writes []part // pieces that are written, from there if anything was read
	next   int    // the piece that is next, of reads and then writes
	copied []byte // what a copy has read
	launch launch

	past past // by an explorer
}

// part is a piece of a command: bytes from a number on.
type part struct{ from, bytes uint64 }

// settle passes over what is no step: waits that are over, and times. gone says that
// the stream was given away, moved that it has come further.
func (l *track) settle() (gone, moved bool) {
	s := l.stream
	l.held = false
	if l.busy && s.sim.lost.Load() != nil {
		l.end() // what a loss has cut off does not go on: nobody can choose that
	}
	for !l.busy {
		it := s.head()
		switch {
		case it == nil:
			return true, moved
		case s.sim.lost.Load() != nil:
			s.drop()
		case it.op == cudart.OpWait:
			if !it.wait.done() {
				l.held = true
				return false, moved
			}
			l.passes(it)
			s.finish()
		case it.op == cudart.OpRecord:
			l.passes(it)
			if lost := s.perform(it); lost != nil {
				s.sim.lose(lost)
				continue
			}
			s.finish()
		default:
			if f := s.sim.faults.Load(); f != nil && f.hangs(s, it) {
				return true, moved
			}
			return false, moved
		}
		moved = true
	}
	return false, moved
}

// step does the next part of the command at the head.
func (l *track) step() {
	s := l.stream
	it := &s.current.items[s.at]
	if s.sim.lost.Load() != nil {
		l.end() // what is queued is dropped when the track is settled
		return
	}
	if !l.busy {
		l.begin(it)
	}
	x := l.steps.explorer
	var does footprint
	if x != nil {
		does = l.ofStep(it, l.next-len(l.reads))
	}
	done, lost := l.advance(it)
	if x != nil {
		l.tell(x, does, done, lost)
	}
	if lost != nil {
		s.sim.lose(lost)
		l.end()
		return
	}
	if done {
		l.busy = false
		s.finish()
	}
}

// begin decides how the command is torn.
func (l *track) begin(it *item) {
	s := l.stream
	l.busy, l.next = true, 0
	l.reads, l.writes = l.reads[:0], l.writes[:0]
	l.cmd, _ = cudart.Decode(s.current.words[it.from:it.to])
	if it.op == cudart.OpFree {
		return
	}
	l.shape = l.steps.shape()
	switch {
	case it.op == cudart.OpLaunch:
		l.beginLaunch()
	case s.sim.faults.Load() != nil: // rules count whole copies
	case it.op == cudart.OpFill && l.steps.halves:
		l.writes = append(l.writes, part{0, l.cmd.Bytes})
	case it.op == cudart.OpFill:
		l.writes = cut(l.writes, l.cmd.Bytes, uint64(l.cmd.Width), l.shape)
	default:
		l.beginCopy()
	}
}

// beginCopy has a copy done piece by piece, or read at first and written later.
func (l *track) beginCopy() {
	n := l.cmd.Bytes
	if l.steps.halves || l.shape%4 == 3 && n > 0 && n <= tearMost {
		l.copied = append(l.copied[:0], make([]byte, n)...)
		l.reads = append(l.reads, part{0, n})
	}
	if l.steps.halves {
		l.writes = append(l.writes, part{0, n})
		return
	}
	l.writes = cut(l.writes, n, 1, l.shape)
}

const halved = 1 // a shape, where commands are two steps

func (x *Steps) shape() uint32 {
	if x.halves {
		return halved
	}
	return uint32(x.choose(shape, 1<<31-1))
}

// cut cuts bytes into pieces of whole units, in some order. Shape 0 is one piece.
func cut(to []part, bytes, unit uint64, shape uint32) []part {
	n := bytes / unit
	if shape == 0 || n < 2 {
		return append(to, part{0, bytes})
	}
	r := chance(shape)
	at := uint64(0)
	for range 1 + r.below(4) {
		if n-at < 2 {
			break
		}
		k := 1 + r.below(n-at-1)
		if r.below(4) == 0 {
			k = 1
		}
		to = append(to, part{at * unit, k * unit})
		at += k
	}
	to = append(to, part{at * unit, bytes - at*unit})
	switch r.below(3) {
	case 1:
		slices.Reverse(to)
	case 2:
		for i := len(to) - 1; i > 0; i-- {
			k := r.below(uint64(i) + 1)
			to[i], to[k] = to[k], to[i]
		}
	}
	return to
}

// chance is a small source of numbers, for what one choice decides.
type chance uint64

func (c *chance) below(n uint64) uint64 {
	*c++
	return mix(uint64(*c), n) % n
}

// advance does the next part. It reports whether the command is done.
func (l *track) advance(it *item) (done bool, lost *loss) {
	s := l.stream
	of := max(len(l.reads)+len(l.writes), 1)
	l.steps.note(l, it.op, s.before+uint64(s.at)+1, l.next, of)
	i := l.next - len(l.reads)
	l.next++
	switch {
	case it.op == cudart.OpLaunch && !s.sim.noBytes:
		return l.advanceLaunch(it, i)
	case len(l.writes) == 0 || s.sim.noBytes:
		return true, s.perform(it)
	case i < 0:
		return false, l.load(l.cmd.Src, l.copied)
	case len(l.reads) > 0:
		p := l.writes[i]
		lost = l.store(l.cmd.Dst+p.from, l.copied[p.from:p.from+p.bytes])
	default:
		p, c := l.writes[i], l.cmd
		c.Dst, c.Src, c.Bytes = c.Dst+p.from, c.Src+p.from, p.bytes
		lost = s.carry(&c)
	}
	return l.next == of, lost
}

// carry does a piece of a copy or fill.
func (s *stream) carry(c *cudart.Command) *loss {
	switch c.Op {
	case cudart.OpFill:
		return s.fill(c)
	case cudart.OpCopyHtoD:
		return s.copyHtoD(c)
	case cudart.OpCopyDtoH:
		return s.copyDtoH(c)
	}
	return s.copyDevice(c)
}

// use calls do with the live bytes at an address of a device or the host. False is
// that there are none.
func (l *track) use(p, bytes uint64, do func(b []byte)) bool {
	r := l.stream.sim
	if m, ok := r.memoryOf(p); ok {
		at, b, _ := m.pin(p, bytes)
		if b != nil {
			do(b)
			at.release()
		}
		return b != nil
	}
	at, b := r.pinned.pin(p, bytes)
	if b != nil {
		do(b)
		r.pinned.release(at)
	}
	return b != nil
}

func (l *track) load(p uint64, into []byte) *loss {
	return l.with(p, into, func(b []byte) { copy(into, b) })
}

func (l *track) store(p uint64, from []byte) *loss {
	return l.with(p, from, func(b []byte) { copy(b, from) })
}

func (l *track) with(p uint64, own []byte, do func(b []byte)) *loss {
	if len(own) > 0 && !l.use(p, uint64(len(own)), do) {
		return illegal(&l.cmd, p)
	}
	return nil
}

// end gives up the command that has begun: the machine is lost.
func (l *track) end() {
	if f := l.launch.fiber; f != nil {
		f.stop()
		l.launch.fiber = nil
	}
	l.busy = false
}
