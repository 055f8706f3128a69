package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/gpuactor/gpuactor/bench"
	_ "github.com/gpuactor/gpuactor/cudart/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every side of the table in Go is one that the rounds have, and the other way.
func TestTableAndRounds(t *testing.T) {
	want := map[string]bool{}
	for _, c := range table() {
		for _, side := range c.sides {
			if name, _ := command("", side, false); name == "side" {
				want[c.name+" "+side] = true
			}
		}
	}
	for _, r := range bench.Rounds() {
		id := r.Case + " " + r.Side
		if !want[id] {
			t.Errorf("%s is not in the table", id)
		}
		delete(want, id)
	}
	for id := range want {
		t.Errorf("%s is in the table and has no round", id)
	}
	for _, c := range table() {
		for _, g := range c.goals {
			if !slices.Contains(c.sides, g.us) && !slices.Contains(c.notYet, g.us) {
				t.Errorf("%s has a goal for %s, which is not a side of it", c.name, g.us)
			}
			for _, them := range g.them {
				if !slices.Contains(c.sides, them) {
					t.Errorf("%s has a goal against %s, which is not a side of it", c.name, them)
				}
			}
		}
	}
}

// baseline builds the C side, and a driver for it that is broken in some way.
func baseline(t *testing.T, broken ...string) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("the baseline is built with gcc, on Linux")
	}
	dir := t.TempDir()
	build := func(name string, args ...string) {
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	build("sh", filepath.Join("..", "baseline", "build"), filepath.Join(dir, "baseline"))
	args := append([]string{"-shared", "-fPIC", "-O2", "-pthread", "-o", filepath.Join(dir, "libcuda.so.1"), filepath.Join("testdata", "driver.c")}, broken...)
	build(gcc, args...)
	t.Setenv("LD_LIBRARY_PATH", dir)
	return dir
}

// inC are the sides of the table that the baseline does.
func inC() (all [][2]string) {
	for _, c := range table() {
		for _, side := range c.sides {
			if name, _ := command("", side, false); name == "baseline" {
				all = append(all, [2]string{c.name, side})
			}
		}
	}
	return all
}

func TestBaseline(t *testing.T) {
	p := launch(baseline(t), true, os.Stderr)
	defer p.close()
	for _, id := range inC() {
		for range 2 { // the second round finds what the first one left
			if res := p.run(id[0], id[1]); res.Error != "" || res.Unit == "" || res.Value <= 0 {
				t.Errorf("%+v", res)
			}
		}
	}
}

// A fast wrong answer fails: with a driver that leaves something out, every case
// that depends on it has an error and no value.
func TestBaselineChecks(t *testing.T) {
	for _, c := range []struct {
		broken string
		fails  []string // beginnings of cases
	}{
		{"-DNO_ADD", []string{"pipeline", "launches", "known", "message-hot", "thousand"}},
		{"-DNO_COPY", []string{"upload", "d2d", "pull"}},
		{"-DNO_DOWNLOAD", []string{"download", "pipeline", "pull"}},
	} {
		t.Run(c.broken, func(t *testing.T) {
			p := launch(baseline(t, c.broken), true, io.Discard)
			defer p.close()
			for _, id := range inC() {
				for _, f := range c.fails {
					if !strings.HasPrefix(id[0], f) {
						continue
					}
					if res := p.run(id[0], id[1]); !strings.Contains(res.Error, "want") {
						t.Errorf("%+v", res)
					}
				}
			}
		})
	}
}

// A program that ends, or that is not there, is an error of its round, and is
// started again for the next one.
func TestProgramThatEnds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	dir := t.TempDir()
	script := "#!/bin/sh\nread a b\n[ $b = c-ends ] && exit\necho \"{\\\"case\\\":\\\"$a\\\",\\\"side\\\":\\\"$b\\\",\\\"value\\\":1}\"\nread a b\n"
	if err := os.WriteFile(filepath.Join(dir, "baseline"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	p := launch(dir, false, io.Discard)
	defer p.close()
	for range 2 {
		if res := p.run("x", "c-ends"); res.Error == "" {
			t.Errorf("%+v", res)
		}
	}
	if res := p.run("x", "c"); res.Error != "" || res.Value != 1 {
		t.Errorf("after it ended: %+v", res)
	}
	if res := p.run("x", "go"); res.Error == "" {
		t.Errorf("a program that is not there: %+v", res)
	}
}

// A round that needs a fresh process has one, and the others keep theirs.
func TestFreshProcesses(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	dir := t.TempDir()
	script := "#!/bin/sh\nwhile read -r c s; do echo \"{\\\"case\\\":\\\"$c\\\",\\\"side\\\":\\\"$s\\\",\\\"value\\\":$$}\"; done\n"
	if err := os.WriteFile(filepath.Join(dir, "side"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	p := launch(dir, false, io.Discard)
	defer p.close()
	pids := func(side string) (first, second float64) {
		var v [2]float64
		for i := range v {
			r := p.run("x", side)
			if r.Error != "" {
				t.Fatal(r.Error)
			}
			v[i] = r.Value
		}
		return v[0], v[1]
	}
	one, two := pids("go")
	three, four := pids("go-fresh")
	again, _ := pids("go")
	if one != two || one != again || three == four || three == one || four == one {
		t.Errorf("processes %v %v, fresh %v %v, then %v", one, two, three, four, again)
	}
}
