package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/oracle"
	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"
	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/random"
)

var (
	seedFlag     = flag.Uint64("seed", 0, "first seed of the random programs; 0: a fresh one")
	programsFlag = flag.Int("programs", 0, "random programs; 0: as many as CI has")
)

// firstSeed is the seed of the first random program.
func firstSeed() uint64 {
	if *seedFlag != 0 {
		return *seedFlag
	}
	return rand.Uint64()
}

// randomPrograms is how many a run compares.
func randomPrograms() int {
	switch {
	case *programsFlag > 0:
		return *programsFlag
	case raceEnabled:
		return 2000
	case testing.Short():
		return 1000
	}
	return 20000
}

// differ is how a checker's reports are not the oracle's, empty where they are.
func differ(p *program.Program, reports []found) string {
	var wrong []string
	say := func(how string, kind program.Kind, first, second int, buffer string) {
		text := fmt.Sprintf("%s: %v", how, p.Report(kind, first, second))
		if buffer != "" {
			text += " in " + buffer
		}
		wrong = append(wrong, text)
	}
	left := oracle.Reports(p)
	for _, f := range reports {
		i := slices.IndexFunc(left, func(r oracle.Report) bool {
			return r.Kind == f.kind && r.First == f.first && r.Second == f.second &&
				(f.buffer == "" && len(r.Buffers) == 0 || slices.ContainsFunc(r.Buffers, func(b int) bool { return p.Buffers[b].Name == f.buffer }))
		})
		if i < 0 {
			say("reported and not true", f.kind, f.first, f.second, f.buffer)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, r := range left {
		say("not reported", r.Kind, r.First, r.Second, "")
	}
	return strings.Join(wrong, "\n")
}

// The checker's core and the oracle agree on random programs: nothing is
// missing, nothing is too much, and nothing is said twice.
func TestRandomProgramsByEngine(t *testing.T) {
	from := firstSeed()
	n := randomPrograms()
	var wrong, clean, reports, statements atomic.Int64
	forSeeds(from, n, func(seed uint64) bool {
		p := random.Program(seed)
		all := oracle.Reports(p)
		reports.Add(int64(len(all)))
		statements.Add(int64(len(p.Statements)))
		if len(all) == 0 {
			clean.Add(1)
		}
		if differ(p, byEngine(p)) == "" {
			return true
		}
		if wrong.Add(1) == 1 {
			small := random.Shrink(p, func(p *program.Program) bool { return differ(p, byEngine(p)) != "" })
			t.Errorf("go test -run %s . -seed %d -programs 1:\n%s\n%s", t.Name(), seed, differ(small, byEngine(small)), small)
		}
		return wrong.Load() < 100
	})
	t.Logf("-seed %d: %d programs of %d statements on average, %d of them clean, %d reports", from, n, statements.Load()/int64(n), clean.Load(), reports.Load())
	if wrong.Load() > 1 {
		t.Errorf("and %d others", wrong.Load()-1)
	}
	if c := clean.Load(); n >= 1000 && (c < int64(n)/5 || c > int64(n)*4/5) {
		t.Errorf("%d of %d programs are clean", c, n)
	}
}

// The same on the simulator, through the runtime's calls: fewer, since each takes
// a machine.
func TestRandomProgramsOnTheSimulator(t *testing.T) {
	from := firstSeed()
	n := max(randomPrograms()/20, 1)
	t.Logf("-seed %d: %d programs", from, n)
	wrong := func(p *program.Program) string {
		reports, err := checked(p)
		if err != nil {
			return err.Error()
		}
		return differ(p, reports)
	}
	var failed atomic.Bool
	forSeeds(from, n, func(seed uint64) bool {
		p := random.Program(seed)
		if wrong(p) == "" {
			return !failed.Load()
		}
		if failed.CompareAndSwap(false, true) {
			small := random.Shrink(p, func(p *program.Program) bool { return wrong(p) != "" })
			t.Errorf("go test -run %s . -seed %d -programs 1:\n%s\n%s", t.Name(), seed, wrong(small), small)
		}
		return false
	})
}

// forSeeds calls f for n seeds, on two goroutines, until it is false.
func forSeeds(from uint64, n int, f func(seed uint64) bool) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && f(from+uint64(i)); i = next.Add(1) - 1 {
			}
		})
	}
	all.Wait()
}
