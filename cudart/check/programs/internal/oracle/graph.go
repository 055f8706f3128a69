package oracle

import "github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"

const none = -1

// graph is a program as nodes and edges. Nodes are numbered in the order in which
// they are issued, so that every edge leads to a greater number.
type graph struct {
	program *program.Program
	node    []int          // of each statement; none where it orders nothing
	wrong   []program.Kind // of each statement: a report of it alone
	from    [][]int        // for each node, the beginnings of its edges
	behind  []set          // for each node, all that a path leads to it from

	last      []int // of each stream: its last command
	host      int   // what the host did last
	recorded  []int // of each event: its latest record
	destroyed []bool
}

// set is a set of nodes, as bits.
type set []uint64

func (s set) has(n int) bool { return s[n/64]>>(n%64)&1 != 0 }

func (s set) add(n int) { s[n/64] |= 1 << (n % 64) }

func (s set) join(t set) {
	for i, w := range t {
		s[i] |= w
	}
}

func draw(p *program.Program) *graph {
	n := len(p.Statements)
	g := &graph{
		program:  p,
		node:     make([]int, n),
		wrong:    make([]program.Kind, n),
		last:     nones(len(p.Streams)),
		host:     none,
		recorded: nones(len(p.Events)), destroyed: make([]bool, len(p.Events)),
	}
	for i := range p.Statements {
		g.node[i], g.wrong[i] = g.issue(&p.Statements[i])
	}
	g.close()
	return g
}

func nones(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = none
	}
	return s
}

// issue draws one statement.
func (g *graph) issue(s *program.Statement) (node int, wrong program.Kind) {
	switch s.Op {
	case program.Record, program.Wait, program.SyncEvent, program.Query, program.Destroy:
		return g.event(s)
	case program.SyncStream:
		return g.hostDoes(g.given(s.Stream)), ""
	case program.SyncDevice:
		var all []int
		for i, on := range g.program.Streams {
			if on.Device == s.Device {
				all = append(all, g.last[i])
			}
		}
		return g.hostDoes(all), ""
	case program.Read, program.Write:
		return g.hostDoes(nil), ""
	case program.Memcpy:
		node = g.command(s.Stream)
		if g.program.HostWaits(s) {
			g.hostDoes([]int{node})
		}
		return node, ""
	}
	return g.command(s.Stream), ""
}

func (g *graph) event(s *program.Statement) (node int, wrong program.Kind) {
	e := s.Event
	switch {
	case g.destroyed[e]:
		return none, program.BadHandle
	case s.Op == program.Destroy:
		g.destroyed[e] = true
		return none, ""
	case s.Op == program.Record:
		if g.program.Streams[s.Stream].Device != g.program.Events[e].Device {
			return none, program.WrongContext
		}
		g.recorded[e] = g.command(s.Stream)
		return g.recorded[e], ""
	case g.recorded[e] == none:
		return none, program.UnrecordedWait
	case s.Op == program.Wait:
		return g.command(s.Stream, g.recorded[e]), ""
	}
	return g.hostDoes([]int{g.recorded[e]}), ""
}

// command adds one to a stream, behind what it waits for.
func (g *graph) command(stream int, waits ...int) int {
	n := g.add(append(append(waits, g.before(stream)...), g.host))
	g.last[stream] = n
	return n
}

// before is what a stream's next command comes after by the rules of streams.
func (g *graph) before(stream int) []int {
	on := g.program.Streams[stream]
	nodes := []int{g.last[stream]}
	for i, other := range g.program.Streams {
		if other.Device == on.Device && (on.Legacy && other.Blocking || on.Blocking && other.Legacy) {
			nodes = append(nodes, g.last[i])
		}
	}
	return nodes
}

// given is what the host waits for when it synchronises a stream.
func (g *graph) given(stream int) []int {
	if g.program.Streams[stream].Legacy {
		return g.before(stream)
	}
	return []int{g.last[stream]}
}

func (g *graph) hostDoes(waits []int) int {
	g.host = g.add(append(waits, g.host))
	return g.host
}

func (g *graph) add(from []int) int {
	g.from = append(g.from, from)
	return len(g.from) - 1
}

// close finds all paths.
func (g *graph) close() {
	words := (len(g.from) + 63) / 64
	bits := make(set, words*len(g.from))
	for n, from := range g.from {
		g.behind = append(g.behind, bits[n*words:(n+1)*words])
		for _, m := range from {
			if m != none {
				g.behind[n].add(m)
				g.behind[n].join(g.behind[m])
			}
		}
	}
}

// reaches reports whether a path leads from a to b.
func (g *graph) reaches(a, b int) bool { return g.behind[b].has(a) }
