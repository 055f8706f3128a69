package main

import (
	"fmt"
	"strconv"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check"
	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// found is a report of a checker, by the indices of the statements.
type found struct {
	kind          program.Kind
	first, second int // second is -1 where there is none
	buffer, fix   string
}

// everything is more accesses than a program has: none is forgotten.
const everything = 1 << 30

// checked runs a program on a simulator under the checker.
func checked(p *program.Program) (all []found, err error) {
	m := &machine{p: p}
	rt := sim.New(sim.Config{Devices: p.Devices, Memory: 1 << 42})
	c := check.New(keeping{rt, rt.(cudart.DefaultStreams)}, check.Options{
		History: everything,
		Site:    func() string { return strconv.Itoa(m.at) },
		Report:  func(r *check.Report) { all = append(all, foundOf(r)) },
	})
	m.rt, m.streamsOf, m.touched, m.name = c, c, c.HostAccess, c
	err = m.run()
	return all, err
}

// foundOf takes a report's statements from the sites of its commands.
func foundOf(r *check.Report) found {
	f := found{kind: program.Kind(r.Kind), first: statement(r.First), second: -1, fix: r.Fix}
	if r.Second != nil {
		f.second = statement(*r.Second)
	}
	if r.Memory != nil {
		f.buffer = r.Memory.Name
	}
	return f
}

func statement(c check.Command) int {
	i, err := strconv.Atoi(c.Site)
	if err != nil {
		panic(fmt.Sprintf("a command without a statement: %v", c))
	}
	return i
}

// keeping is a simulator that frees nothing: a program goes on behind its first use
// after a free, which would be a fault of the device, so that the rest is checked too.
type keeping struct {
	cudart.Runtime
	cudart.DefaultStreams
}

// Submit leaves out a free, which is alone in its list here.
func (k keeping) Submit(ctx cudart.Context, s cudart.Stream, l *cudart.List) (int, error) {
	if c, _ := cudart.Decode(l.Words()); c.Op == cudart.OpFree {
		return -1, nil
	}
	return k.Runtime.Submit(ctx, s, l)
}
