package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gpuactor/gpuactor/bench"
)

// patience is how long one round may take before its program is given up: a round
// is a fraction of a second, the first one opens the driver and a process of Python.
const patience = 90 * time.Second

// programs are the processes that do the rounds. Each serves its rounds one after
// the other and blocks in between, so that it does not disturb the others and
// starting it is not measured. One that failed is started again for its next round.
type programs struct {
	sides  string
	quick  bool
	stderr io.Writer
	live   map[string]*program
	took   map[string]time.Duration // by case and side
}

type program struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan []byte // closed when the program ends
}

func launch(sides string, quick bool, stderr io.Writer) *programs {
	return &programs{sides: sides, quick: quick, stderr: stderr, live: map[string]*program{}, took: map[string]time.Duration{}}
}

// command is the program that does a side, by the beginning of the side's name.
func command(sides, side string, quick bool) (name string, args []string) {
	kind, _, _ := strings.Cut(side, "-")
	switch kind {
	case "c":
		name, args = "baseline", []string{filepath.Join(sides, "baseline")}
	case "torch":
		name, args = "torch", []string{"python3", filepath.Join(sides, "pytorch.py")}
	default: // go, and what else is written in Go
		name, args = "side", []string{filepath.Join(sides, "side")}
	}
	if quick {
		args = append(args, "-quick")
	}
	return name, args
}

// fresh reports whether each round of a side needs a process that has done nothing before.
func fresh(side string) bool { return strings.HasSuffix(side, "-fresh") }

// run runs one round.
func (p *programs) run(name, side string) bench.Result {
	began := time.Now()
	res, err := p.ask(name, side)
	p.took[name+" "+side] += time.Since(began)
	if err != nil {
		return bench.Result{Case: name, Side: side, Error: err.Error()}
	}
	return res
}

func (p *programs) ask(name, side string) (res bench.Result, err error) {
	prog, args := command(p.sides, side, p.quick)
	if fresh(side) {
		prog = side
	}
	live := p.live[prog]
	if live == nil {
		if live, err = start(args, p.stderr); err != nil {
			return res, err
		}
		p.live[prog] = live
	}
	_, err = fmt.Fprintln(live.in, name, side)
	if err == nil {
		err = live.answer(&res)
	}
	if err != nil {
		live.kill()
		delete(p.live, prog)
		return res, fmt.Errorf("%s: %w", prog, err)
	}
	if res.Error != "" || fresh(side) {
		live.kill() // the next round shall not find what this one left
		delete(p.live, prog)
	}
	if res.Case != name || res.Side != side {
		return res, fmt.Errorf("%s answered for %s %s", prog, res.Case, res.Side)
	}
	return res, nil
}

func start(args []string, stderr io.Writer) (*program, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = stderr
	cmd.Env = os.Environ()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &program{cmd: cmd, in: in, lines: make(chan []byte, 1)}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- append([]byte(nil), s.Bytes()...)
		}
	}()
	return p, nil
}

func (p *program) answer(res *bench.Result) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case line, ok := <-p.lines:
		if !ok {
			return errors.New("it ended without an answer")
		}
		return json.Unmarshal(line, res)
	case <-timer.C:
		return fmt.Errorf("no answer within %v", patience)
	}
}

func (p *program) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	p.end()
}

// end lets the program go on to the end of its input, and waits for it.
func (p *program) end() {
	_ = p.in.Close()
	for range p.lines {
	}
	_ = p.cmd.Wait()
}

// slowest names the n sides that took the most of the run.
func (p *programs) slowest(n int) string {
	ids := slices.SortedFunc(maps.Keys(p.took), func(a, b string) int { return cmp.Compare(p.took[b], p.took[a]) })
	var text []string
	for _, id := range ids[:min(n, len(ids))] {
		text = append(text, fmt.Sprintf("%s %.1f s", id, p.took[id].Seconds()))
	}
	return strings.Join(text, ", ")
}

func (p *programs) close() {
	for name, live := range p.live {
		live.end()
		delete(p.live, name)
	}
}

// gpu is the GPU's name and its driver's version, from the driver's own tool.
func gpu() (name, driver string) {
	out, err := exec.Command("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "-i", "0").Output()
	if err != nil {
		return "none", "none"
	}
	name, driver, _ = strings.Cut(strings.TrimSpace(string(out)), ", ")
	return name, driver
}
