package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// files are all programs of testdata.
func files(t testing.TB) (all []*program.Program) {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		programs, err := program.Parse(name, string(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, programs...)
	}
	return all
}

// On the simulator, and by the checker's core alone, each program gets what it expects,
// which is what the oracle says.
func TestFiles(t *testing.T) {
	names := map[string]bool{}
	for _, p := range files(t) {
		if names[p.Name] {
			t.Errorf("a second program is called %q", p.Name)
		}
		names[p.Name] = true
		t.Run(p.Name, func(t *testing.T) {
			reports, err := checked(p)
			if err != nil {
				t.Fatal(err)
			}
			if r, why := check1(p, false); !r.OK {
				t.Errorf("%s:%d: %s", p.File, p.Line, why)
			}
			for by, all := range map[string][]found{"simulator": reports, "engine": byEngine(p)} {
				if why := differ(p, all); why != "" {
					t.Errorf("%s:%d, by %s: %s", p.File, p.Line, by, why)
				}
			}
			for _, r := range reports {
				if r.fix == "" {
					t.Errorf("%v: without a fix", p.Report(r.kind, r.first, r.second))
				}
			}
		})
	}
}

// However many commands wait to be known complete, each true pair is reported.
func TestNothingIsForgotten(t *testing.T) {
	const n = 200
	text := "program many\nstream a\nstream b\nbuf x bytes=4\n" + strings.Repeat("kernel a w=x\n", n) + "kernel b r=x\n"
	programs, err := program.Parse("many.txt", text)
	if err != nil {
		t.Fatal(err)
	}
	all, err := checked(programs[0])
	if err != nil {
		t.Fatal(err)
	}
	if why := differ(programs[0], all); why != "" || len(all) != n {
		t.Errorf("%d reports: %s", len(all), why)
	}
}

const racy = `program bad
stream a
stream b
buf x bytes=4
@w kernel a w=x
kernel b r=x
`

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	race := `{"program":"bad","reports":[{"kind":"race","first":"@w","second":"line 6","buffer":"x","fix":"record an event on a behind the first, and have b wait for it before the second"}],"ok":`
	for _, c := range []struct {
		name   string
		args   []string
		status int
		out    []string // lines, or what they begin with
		err    string
	}{
		{"nothing to do", nil, 2, nil, "usage"},
		{"an unknown flag", []string{"-x"}, 2, nil, "flag provided but not defined"},
		{"no such file", []string{filepath.Join(dir, "none")}, 2, nil, "no such file"},
		{"not a program, behind one", []string{file("a", racy), file("b", "program p\nstream a\nlaunch a\n")}, 2, nil, "b:3: unknown statement"},
		{"unexpected", []string{file("c", racy)}, 1, []string{race + `false}`, "0 passed, 1 failed"}, "c:1: bad: not expected: race @w line 6"},
		{"expected in vain", []string{file("d", "program <p> & q\nstream a\n@x sync a\nexpect bad-handle @x\n")}, 1,
			[]string{`{"program":"<p> & q","reports":[],"ok":false}`, "0 passed, 1 failed"}, "missing: bad-handle @x"},
		{"two files, three programs", []string{file("e", strings.ReplaceAll(racy, "kernel b", "@r kernel b")+"expect race @w @r\nprogram none\nexpect clean\n"), file("f", "program empty\n")}, 0,
			[]string{strings.Replace(race, "line 6", "@r", 1) + `true}`, `{"program":"none","reports":[],"ok":true}`, `{"program":"empty","reports":[],"ok":true}`, "3 passed, 0 failed"}, ""},
		{"as data", []string{"-json", file("g", racy+"program next\nexpect clean\n")}, 0, []string{race + `true}`, `{"program":"next","reports":[],"ok":true}`}, ""},
		{"a great buffer", []string{"-json", file("h", "program p\nbuf x bytes=17179869184\n")}, 0, []string{`{"program":"p","reports":[],"ok":true}`}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			status := command(c.args, &out, &errs)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if out.Len() == 0 {
				lines = nil
			}
			if strings.Join(lines, "\n") != strings.Join(c.out, "\n") {
				t.Errorf("printed\n%s\nwant\n%s", out.String(), strings.Join(c.out, "\n"))
			}
			for _, line := range lines {
				if strings.HasPrefix(line, "{") && !json.Valid([]byte(line)) {
					t.Errorf("not JSON: %s", line)
				}
			}
			if got := errs.String(); (got == "") != (c.err == "") || !strings.Contains(got, c.err) {
				t.Errorf("complained %q, want %q", got, c.err)
			}
		})
	}
}
