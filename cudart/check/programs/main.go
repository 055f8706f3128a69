// Command programs runs stream programs under the race checker, and says of each what
// is reported: LANGUAGE.md describes the language, testdata has programs.
//
//	go run ./cudart/check/programs FILE…
//	go run ./cudart/check/programs -json FILE…
//
// It prints one JSON object a line for each program, and a last line that counts those
// whose reports are what they expect; with -json expectations are left out of account,
// as is the last line. It exits with 2 if a file cannot be read as programs, else with
// 1 if a program failed, else with 0.
//
// Each program runs on a simulator of its own. The checker sees only what is issued, so
// what it says is the same in every run.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"
)

func main() { os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) }

// result is what is printed of a program.
type result struct {
	Program string   `json:"program"`
	Reports []report `json:"reports"`
	OK      bool     `json:"ok"`
}

// report is one thing that the checker says.
type report struct {
	Kind   program.Kind `json:"kind"`
	First  string       `json:"first"`
	Second string       `json:"second"`
	Buffer string       `json:"buffer"`
	Fix    string       `json:"fix"`
}

func command(args []string, stdout, stderr io.Writer) (status int) {
	flags := flag.NewFlagSet("programs", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprintln(stderr, "usage: programs [-json] FILE…"); flags.PrintDefaults() }
	asData := flags.Bool("json", false, "only the objects; what programs expect is left out of account")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return 2
	}
	var all []*program.Program
	for _, file := range flags.Args() {
		text, err := os.ReadFile(file)
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 2
		}
		programs, err := program.Parse(file, string(text))
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 2
		}
		all = append(all, programs...)
	}
	out := json.NewEncoder(stdout)
	out.SetEscapeHTML(false)
	failed := 0
	for _, p := range all {
		r, why := check1(p, *asData)
		if !r.OK {
			failed++
			fmt.Fprintf(stderr, "%s:%d: %s: %s\n", p.File, p.Line, p.Name, why)
		}
		if err := out.Encode(r); err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
	}
	if !*asData {
		fmt.Fprintf(stdout, "%d passed, %d failed\n", len(all)-failed, failed)
	}
	if failed > 0 {
		return 1
	}
	return 0
}

// check1 runs a program. Where it is not OK, why says so.
func check1(p *program.Program, anyReports bool) (r result, why string) {
	r = result{Program: p.Name, Reports: []report{}}
	found, err := checked(p)
	var expects []program.Expect
	for _, f := range found {
		e := p.Report(f.kind, f.first, f.second)
		expects = append(expects, e)
		r.Reports = append(r.Reports, report{e.Kind, e.First, e.Second, f.buffer, f.fix})
	}
	switch {
	case err != nil:
		why = err.Error()
	case !anyReports:
		why = p.Fails(expects)
	}
	r.OK = why == ""
	return r, why
}
