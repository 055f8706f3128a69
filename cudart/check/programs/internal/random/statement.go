package random

import (
	"fmt"

	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"
)

// weights is how often each statement is tried.
var weights = []struct {
	op     program.Op
	weight int
}{
	{program.Kernel, 30}, {program.Copy, 12}, {program.Fill, 6}, {program.Memcpy, 4},
	{program.Record, 14}, {program.Wait, 14}, {program.SyncStream, 4}, {program.SyncEvent, 3},
	{program.SyncDevice, 1}, {program.Query, 3}, {program.Read, 4}, {program.Write, 3},
	{program.Alloc, 4}, {program.Free, 3}, {program.Destroy, 1},
}

func (g *generator) op() program.Op {
	sum := 0
	for _, w := range weights {
		sum += w.weight
	}
	at := g.n(sum)
	for _, w := range weights {
		if at -= w.weight; at < 0 {
			return w.op
		}
	}
	panic("random: the weights are less than their sum")
}

// statement is one that the language takes, or none where it would have none of the
// kind.
func (g *generator) statement() (s program.Statement, ok bool) {
	p := g.p
	s.Op = g.op()
	// Not all streams are used alike: the legacy ones are ordered with so much.
	if s.Stream = g.n(len(p.Streams)); p.Streams[s.Stream].Legacy && g.one(2) {
		s.Stream = p.Devices + g.n(len(p.Streams)-p.Devices)
	}
	on := p.Streams[s.Stream]
	switch s.Op {
	case program.Kernel:
		for range g.n(4) {
			s.Access = append(s.Access, g.access(g.n(len(p.Buffers)), g.one(2)))
		}
	case program.Copy:
		return g.copy(s)
	case program.Memcpy:
		s.Stream = g.n(p.Devices)
		return g.copy(s)
	case program.Fill:
		b := g.n(len(p.Buffers))
		s.Access = []program.Access{g.access(b, true)}
		return s, !p.Buffers[b].Host
	case program.Record, program.Wait, program.SyncEvent, program.Query, program.Destroy:
		s.Event = g.n(len(p.Events))
		if s.Op == program.Record && p.Events[s.Event].Device != on.Device && !g.one(3) {
			s.Event = g.event(on.Device)
		}
	case program.SyncDevice:
		s.Device = g.n(p.Devices)
	case program.Read, program.Write:
		b := g.n(len(p.Buffers))
		s.Access = []program.Access{g.access(b, s.Op == program.Write)}
		return s, p.Buffers[b].Host
	case program.Alloc:
		b := program.Buffer{Name: fmt.Sprintf("a%d", len(p.Buffers)), Bytes: g.bytes(), Device: on.Device, Alloc: true}
		p.Buffers = append(p.Buffers, b)
		s.Access = []program.Access{{Buffer: len(p.Buffers) - 1, Bytes: b.Bytes, Write: true}}
	case program.Free:
		b := g.n(len(p.Buffers))
		s.Access = []program.Access{{Buffer: b, Bytes: p.Buffers[b].Bytes, Write: true}}
		return s, !p.Buffers[b].Host
	}
	return s, true
}

// access is a buffer, or a part of it.
func (g *generator) access(b int, write bool) program.Access {
	a := program.Access{Buffer: b, Bytes: g.p.Buffers[b].Bytes, Write: write}
	if g.one(2) {
		a.Offset = g.rand.Uint64N(a.Bytes)
		a.Bytes = 1 + g.rand.Uint64N(a.Bytes-a.Offset)
	}
	return a
}

// copy cuts the longer end to the shorter one's length.
func (g *generator) copy(s program.Statement) (program.Statement, bool) {
	to, from := g.access(g.n(len(g.p.Buffers)), true), g.access(g.n(len(g.p.Buffers)), false)
	to.Bytes = min(to.Bytes, from.Bytes)
	from.Bytes = to.Bytes
	s.Access = []program.Access{to, from}
	dst, src := g.p.Buffers[to.Buffer], g.p.Buffers[from.Buffer]
	if dst.Host && src.Host && s.Op == program.Copy {
		return s, false
	}
	on := g.p.Streams[s.Stream]
	for _, b := range []program.Buffer{dst, src} {
		if on.Legacy && !b.Host && b.Device != on.Device {
			return s, false
		}
	}
	return s, true
}
