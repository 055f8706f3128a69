// Package oracle says what a checker must report of a program, by reachability in
// the graph of its statements. It is what the checker is compared with, so it has
// no clocks, and nothing in common with the checker but the language.
//
// A node is a command, or something that the host does. Edges lead from earlier to
// later ones, and are drawn one rule of LANGUAGE.md at a time:
//
//	a command    from the command before it in its stream, and from what the host
//	             did last before it issued it
//	a wait       from the record that the event had last
//	legacy       from the last command of every blocking stream of its device; and a
//	             command of one of those from the last of the legacy stream
//	the host     from what it did before, and from the last command of what it
//	             waits for
//
// A is ordered before B exactly if a path leads from A to B.
package oracle

import (
	"slices"

	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"
)

// Report is what must be reported: two statements, or one, by index.
type Report struct {
	Kind          program.Kind
	First, Second int   // Second is -1 where the kind names one statement
	Buffers       []int // those that the two meet in, each once
}

// Reports lists every report of a program once, by its later statement and then by its
// earlier one.
func Reports(p *program.Program) []Report {
	g := draw(p)
	var all []Report
	for i := range p.Statements {
		all = g.of(all, i)
	}
	return all
}

// Last is those of Reports that come with the program's last statement.
func Last(p *program.Program) []Report {
	return draw(p).of(nil, len(p.Statements)-1)
}

// of appends the reports that come with a statement.
func (g *graph) of(all []Report, statement int) []Report {
	for earlier := range statement {
		if r, ok := g.pair(earlier, statement); ok {
			all = append(all, r)
		}
	}
	if kind := g.wrong[statement]; kind != "" {
		all = append(all, Report{Kind: kind, First: statement, Second: -1})
	}
	return all
}

// pair is the report of two statements, the first issued before the second.
func (g *graph) pair(first, second int) (Report, bool) {
	a, b := &g.program.Statements[first], &g.program.Statements[second]
	meet := conflicts(a, b)
	if len(meet) == 0 {
		return Report{}, false
	}
	switch ordered := g.reaches(g.node[first], g.node[second]); {
	case !ordered:
		return Report{program.Race, first, second, meet}, true
	case a.Op == program.Free:
		return Report{program.UseAfterFree, first, second, meet}, true
	}
	return Report{}, false
}

// conflicts is the buffers of which two statements touch the same byte and one
// of them writes it.
func conflicts(a, b *program.Statement) (in []int) {
	for _, x := range a.Access {
		for _, y := range b.Access {
			if x.Overlaps(y) && (x.Write || y.Write) && !slices.Contains(in, x.Buffer) {
				in = append(in, x.Buffer)
			}
		}
	}
	return in
}
