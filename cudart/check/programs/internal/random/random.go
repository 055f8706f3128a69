// Package random makes stream programs from seeds, and shrinks one that shows
// something to the few statements that it takes.
package random

import (
	"fmt"
	"math/rand/v2"

	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/oracle"
	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"
)

// Program is the program of a seed, the same for ever. One in four is made without
// care, and mostly wrong; the others are made right step by step, by edges in front of
// what would be reported, and then half of these are spoilt: a statement that
// orders something is taken out, or changes places with its neighbour. So the wrong ones
// are often wrong in one place only.
func Program(seed uint64) *program.Program {
	g := &generator{rand: rand.New(rand.NewPCG(seed, 0)), p: &program.Program{Name: fmt.Sprintf("seed %d", seed)}}
	g.declare()
	careful := !g.one(4)
	for range 3 + g.n(12) + g.n(25) {
		g.step(careful)
	}
	if careful && g.one(2) {
		g.spoil()
	}
	programs, err := program.Parse(g.p.Name, g.p.String())
	if err != nil {
		panic(err)
	}
	return programs[0]
}

type generator struct {
	rand *rand.Rand
	p    *program.Program
}

func (g *generator) n(n int) int     { return g.rand.IntN(n) }
func (g *generator) one(of int) bool { return g.n(of) == 0 }

func (g *generator) declare() {
	p := g.p
	p.Devices = 1 + g.n(2)*g.n(3)
	for d := range p.Devices {
		name := "legacy"
		if d > 0 {
			name = fmt.Sprintf("legacy%d", d)
		}
		p.Streams = append(p.Streams, program.Stream{Name: name, Device: d, Legacy: true})
	}
	for i := range 1 + g.n(4) {
		p.Streams = append(p.Streams, program.Stream{Name: fmt.Sprintf("s%d", i), Device: g.n(p.Devices), Blocking: g.one(3)})
	}
	for range 1 + g.n(4) {
		g.event(g.n(p.Devices))
	}
	for i := range 1 + g.n(3) {
		p.Buffers = append(p.Buffers, program.Buffer{Name: fmt.Sprintf("b%d", i), Bytes: g.bytes(), Device: g.n(p.Devices)})
	}
	for i := range 1 + g.n(2) {
		p.Buffers = append(p.Buffers, program.Buffer{Name: fmt.Sprintf("h%d", i), Bytes: g.bytes(), Host: true})
	}
}

func (g *generator) bytes() uint64 { return []uint64{1, 2, 8, 64}[g.n(4)] }

// event is a new event of a device.
func (g *generator) event(device int) int {
	g.p.Events = append(g.p.Events, program.Event{Name: fmt.Sprintf("e%d", len(g.p.Events)), Device: device})
	return len(g.p.Events) - 1
}

// step adds a statement. With care it is one that nothing is reported of, or
// nothing.
func (g *generator) step(careful bool) {
	s, ok := g.statement()
	if !ok {
		return
	}
	if !careful {
		g.add(s)
		return
	}
	for range 4 {
		g.add(s)
		wrong := oracle.Last(g.p)
		if len(wrong) == 0 {
			return
		}
		g.takeBack()
		if wrong[0].Kind != program.Race {
			break
		}
		g.edge(wrong[0].First, &s)
	}
}

func (g *generator) add(s program.Statement) { g.p.Statements = append(g.p.Statements, s) }

func (g *generator) takeBack() { g.p.Statements = g.p.Statements[:len(g.p.Statements)-1] }

// edge has what comes next, s, come after an earlier statement.
func (g *generator) edge(first int, s *program.Statement) {
	from := g.p.Statements[first].Stream
	on := g.p.Streams[from]
	host := s.Op == program.Read || s.Op == program.Write
	switch {
	case g.one(12):
		g.add(program.Statement{Op: program.SyncDevice, Device: on.Device})
		return
	case g.one(8) || host && g.one(2):
		g.add(program.Statement{Op: program.SyncStream, Stream: from})
		return
	}
	e := g.n(len(g.p.Events))
	if g.p.Events[e].Device != on.Device || g.destroyed(e) {
		e = g.event(on.Device)
	}
	g.add(program.Statement{Op: program.Record, Stream: from, Event: e})
	switch {
	case !host:
		g.add(program.Statement{Op: program.Wait, Stream: s.Stream, Event: e})
	case g.one(2):
		g.add(program.Statement{Op: program.Query, Event: e})
	default:
		g.add(program.Statement{Op: program.SyncEvent, Event: e})
	}
}

func (g *generator) destroyed(e int) bool {
	for _, s := range g.p.Statements {
		if s.Op == program.Destroy && s.Event == e {
			return true
		}
	}
	return false
}

// spoil takes order away.
func (g *generator) spoil() {
	var orders []int
	for i, s := range g.p.Statements {
		switch s.Op {
		case program.Record, program.Wait, program.SyncStream, program.SyncEvent, program.SyncDevice, program.Query:
			orders = append(orders, i)
		}
	}
	if len(orders) == 0 {
		return
	}
	all := g.p.Statements
	switch i := orders[g.n(len(orders))]; {
	case g.one(2) && i > 0 && all[i-1].Op != program.Alloc:
		all[i-1], all[i] = all[i], all[i-1]
	case g.one(4):
		all[i].Event = g.n(len(g.p.Events))
	default:
		g.p.Statements = append(all[:i:i], all[i+1:]...)
	}
}
