package cudart

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Param is one parameter of a kernel in PTX.
type Param struct {
	Name    string // as in the PTX
	Bytes   int    // its size in the parameter space
	Pointer bool   // marked .ptr
}

// Entry is one kernel of a module in PTX.
type Entry struct {
	Name   string  // as in the PTX
	Params []Param // in their order
}

var (
	ptxComment = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	ptxEntry   = regexp.MustCompile(`\.entry\s+([A-Za-z_$%][\w$]*)\s*(\(([^)]*)\))?`)
	ptxParam   = regexp.MustCompile(`^\.param\s+(?:\.align\s+\d+\s+)?\.([a-z]+\d+)\s*((?:\.ptr(?:\s*\.\w+)*(?:\s+\.align\s+\d+)?)?)\s*([A-Za-z_$%][\w$]*)\s*(?:\[\s*(\d+)\s*\])?$`)
	ptxVersion = regexp.MustCompile(`(?m)^\s*\.version\s+\d+\.\d+\s*$`)
	ptxTarget  = regexp.MustCompile(`(?m)^\s*\.target\s+\w+`)
)

// ParsePTX lists the kernels of a module with their parameters: as much of PTX
// (its grammar is NVIDIA's "PTX ISA") as it takes to check a launch against a
// kernel's signature, on any runtime. It does not check the kernels' bodies.
func ParsePTX(text string) ([]Entry, error) {
	text = ptxComment.ReplaceAllString(text, " ")
	if !ptxVersion.MatchString(text) || !ptxTarget.MatchString(text) {
		return nil, &Error{Code: ErrInvalidPTX, Call: "cuModuleLoadDataEx", Text: "no .version or no .target directive"}
	}
	var entries []Entry
	for _, m := range ptxEntry.FindAllStringSubmatch(text, -1) {
		e := Entry{Name: m[1]}
		for p := range strings.SplitSeq(m[3], ",") {
			if p = strings.TrimSpace(p); p == "" {
				continue
			}
			param, err := parseParam(p)
			if err != nil {
				return nil, &Error{Code: ErrInvalidPTX, Call: "cuModuleLoadDataEx", Text: fmt.Sprintf("kernel %s: %v", e.Name, err)}
			}
			e.Params = append(e.Params, param)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func parseParam(text string) (Param, error) {
	m := ptxParam.FindStringSubmatch(text)
	if m == nil {
		return Param{}, fmt.Errorf("cannot read parameter %q", text)
	}
	bits, err := strconv.Atoi(strings.TrimLeft(m[1], "abcdefghijklmnopqrstuvwxyz"))
	if err != nil || bits%8 != 0 || bits == 0 || bits > 128 {
		return Param{}, fmt.Errorf("parameter %q has an unknown type", text)
	}
	n := 1
	if m[4] != "" {
		if n, err = strconv.Atoi(m[4]); err != nil || n > 4096 {
			return Param{}, fmt.Errorf("parameter %q is too large", text)
		}
	}
	return Param{Name: m[3], Bytes: bits / 8 * n, Pointer: m[2] != ""}, nil
}
