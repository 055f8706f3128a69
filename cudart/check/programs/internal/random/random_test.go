package random

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/oracle"
	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"
)

// The programs have all of the language in them, and all kinds of report; a good part of
// them is right, and of the wrong ones a good part is wrong in one place only.
func TestProgramsHaveEverything(t *testing.T) {
	const n = 1000
	ops, kinds := map[program.Op]int{}, map[program.Kind]int{}
	clean, one, legacy, parts, far := 0, 0, 0, 0, 0
	for seed := range uint64(n) {
		p := Program(seed)
		if p.String() != Program(seed).String() {
			t.Fatalf("seed %d makes two programs", seed)
		}
		for _, s := range p.Statements {
			ops[s.Op]++
			if s.Op <= program.Wait && p.Streams[s.Stream].Legacy {
				legacy++
			}
			for _, a := range s.Access {
				b := p.Buffers[a.Buffer]
				if a.Bytes < b.Bytes {
					parts++
				}
				if !b.Host && s.Op == program.Copy && b.Device != p.Streams[s.Stream].Device {
					far++
				}
			}
		}
		reports := oracle.Reports(p)
		for _, r := range reports {
			kinds[r.Kind]++
		}
		switch len(reports) {
		case 0:
			clean++
		case 1:
			one++
		}
	}
	for op := program.Alloc; op <= program.Destroy; op++ {
		if ops[op] < n/10 {
			t.Errorf("%d statements %v", ops[op], op)
		}
	}
	for _, k := range []program.Kind{program.Race, program.UseAfterFree, program.UnrecordedWait, program.WrongContext, program.BadHandle} {
		if kinds[k] < n/50 {
			t.Errorf("%d reports of %s", kinds[k], k)
		}
	}
	for what, got := range map[string]int{"clean programs": clean, "programs with one report": one, "commands on legacy streams": legacy,
		"parts of buffers": parts, "copies of another device's memory": far} {
		if got < n/20 {
			t.Errorf("%d %s", got, what)
		}
	}
	t.Logf("of %d programs %d are clean, %d have one report; statements %v, reports %v", n, clean, one, ops, kinds)
}

func TestShrinkLeavesNoLineThatCanGo(t *testing.T) {
	races := func(p *program.Program) bool {
		for _, r := range oracle.Reports(p) {
			if r.Kind == program.Race {
				return true
			}
		}
		return false
	}
	shrunk := 0
	for seed := range uint64(100) {
		p := Program(seed)
		if !races(p) {
			continue
		}
		shrunk++
		p = Shrink(p, races)
		if len(p.Statements) != 2 || !races(p) {
			t.Fatalf("seed %d: a race takes two statements:\n%s", seed, p)
		}
		lines := strings.SplitAfter(p.String(), "\n")
		for i := range lines[:len(lines)-1] {
			left := strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")
			if q, err := program.Parse("", left); err == nil && len(q) == 1 && races(q[0]) {
				t.Errorf("seed %d: %q could go from\n%s", seed, lines[i], p)
			}
		}
	}
	if shrunk < 10 {
		t.Errorf("%d programs race", shrunk)
	}
}
