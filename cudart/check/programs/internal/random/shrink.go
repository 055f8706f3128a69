package random

import (
	"slices"
	"strings"

	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"
)

// Shrink takes lines out of a program for as long as what is left is a program that
// fails. It returns the smallest that it finds: no single line of it can go.
func Shrink(p *program.Program, fails func(*program.Program) bool) *program.Program {
	p.Expects = nil
	lines := strings.SplitAfter(strings.TrimSuffix(p.String(), "\n"), "\n")
	for size := len(lines); size > 0; {
		smaller := false
		for at := len(lines) - size; at > 0; at -= size {
			left := slices.Concat(lines[:at], lines[at+size:])
			programs, err := program.Parse(p.Name, strings.Join(left, ""))
			if err == nil && fails(programs[0]) {
				p, lines, smaller = programs[0], left, true
			}
		}
		if !smaller || size > 1 {
			size /= 2
		}
	}
	return p
}
