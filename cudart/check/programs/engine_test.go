package main

import (
	"fmt"
	"strconv"

	"github.com/gpuactor/gpuactor/cudart/check/internal/order"
	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"
)

// byEngine is what the checker's core says of a program, told of its statements
// without a runtime in between.
func byEngine(p *program.Program) (all []found) {
	index := func(c *order.Command) int {
		if c == nil {
			return -1
		}
		i, err := strconv.Atoi(c.Site)
		if err != nil {
			panic(err)
		}
		return i
	}
	e := order.New(order.Options{Report: func(r order.Report) {
		f := found{kind: program.Kind(r.Kind.String()), first: index(r.First), second: index(r.Second)}
		if r.Buffer != nil {
			f.buffer = r.Buffer.Name
		}
		all = append(all, f)
	}})
	t := newTold(e, p)
	for i := range p.Statements {
		t.tell(&p.Statements[i], order.Note{Site: fmt.Sprint(i)})
	}
	return all
}

// told is a program's things as the engine has them.
type told struct {
	e       *order.Engine
	p       *program.Program
	devices []*order.Context
	streams []*order.Stream
	events  []*order.Event
	buffers []*order.Buffer
}

func newTold(e *order.Engine, p *program.Program) *told {
	t := &told{e: e, p: p}
	for d := range p.Devices {
		t.devices = append(t.devices, e.NewContext(fmt.Sprint(d)))
	}
	for _, s := range p.Streams {
		mode := order.NonBlocking
		switch {
		case s.Legacy:
			mode = order.Legacy
		case s.Blocking:
			mode = order.Blocking
		}
		t.streams = append(t.streams, t.devices[s.Device].NewStream(s.Name, mode))
	}
	for _, ev := range p.Events {
		t.events = append(t.events, t.devices[ev.Device].NewEvent(ev.Name))
	}
	for _, b := range p.Buffers {
		t.buffers = append(t.buffers, e.NewBuffer(b.Name, b.Bytes))
	}
	return t
}

func (t *told) tell(s *program.Statement, n order.Note) {
	on := t.streams[s.Stream]
	switch s.Op {
	case program.Alloc:
		b := t.p.Buffers[s.Access[0].Buffer]
		t.buffers[s.Access[0].Buffer] = t.e.Alloc(on, n, b.Name, b.Bytes)
	case program.Free:
		t.e.Free(on, n, t.buffers[s.Access[0].Buffer])
	case program.Record:
		t.e.Record(on, n, t.events[s.Event])
	case program.Wait:
		t.e.Wait(on, n, t.events[s.Event])
	case program.SyncStream:
		on.Now().Passed()
	case program.SyncDevice:
		t.devices[s.Device].Now().Passed()
	case program.SyncEvent, program.Query:
		t.e.Query(n, t.events[s.Event]).Passed()
	case program.Destroy:
		t.e.Destroy(n, t.events[s.Event])
	case program.Read, program.Write:
		t.e.Host(n, t.accesses(s)[0])
	default:
		t.e.Run(on, n, t.accesses(s)...)
		if s.Op == program.Memcpy && t.p.HostWaits(s) {
			on.Now().Passed()
		}
	}
}

func (t *told) accesses(s *program.Statement) (all []order.Access) {
	for _, a := range s.Access {
		act := order.Read
		if a.Write {
			act = order.Write
		}
		all = append(all, t.buffers[a.Buffer].At(a.Offset, a.Bytes, act))
	}
	return all
}
