package main

import (
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"sync/atomic"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/oracle"
	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"
	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/random"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// manySeeds are enough for whatever can show itself to do so.
const manySeeds = 1000

// chaosSeeds is how many seeds each program of the files is run with.
func chaosSeeds() uint64 {
	switch {
	case raceEnabled:
		return 10
	case testing.Short():
		return 30
	}
	return manySeeds
}

// outcome is what a run of a program shows: a hash of all bytes that were read and that
// were left. Or it is how the run ended before its end: a use after a free is refused,
// or a fault of the device.
func outcome(p *program.Program, clock sim.Clock) (shows string, ended bool) {
	rt := sim.New(sim.Config{Devices: p.Devices, Memory: 1 << 42, Clock: clock})
	m := &machine{p: p, rt: rt, streamsOf: rt.(cudart.DefaultStreams), peek: true}
	if err := m.run(); err != nil {
		return err.Error(), true
	}
	h := fnv.New64a()
	fmt.Fprint(h, m.saw)
	return fmt.Sprintf("%x", h.Sum64()), false
}

// shown is the first seed that shows that a program's bytes are left to chance: it ended
// before its end, or its bytes are others than those of seed 0. Without one it is n.
func shown(p *program.Program, n uint64) (seed uint64, how string) {
	first := ""
	for seed := range n {
		o, ended := outcome(p, sim.Chaos(seed))
		switch {
		case ended:
			return seed, o
		case seed == 0:
			first = o
		case o != first:
			return seed, "other bytes than with seed 0"
		}
	}
	return n, ""
}

// misordered is whether a race or a use after a free is reported.
func misordered(reports []oracle.Report) bool {
	for _, r := range reports {
		if r.Second >= 0 {
			return true
		}
	}
	return false
}

// undefined reports whether a copy's ranges overlap: what it does then CUDA does not say,
// and the clock copies in pieces, so that bytes differ where nothing races.
func undefined(p *program.Program) bool {
	for _, s := range p.Statements {
		if (s.Op == program.Copy || s.Op == program.Memcpy) && s.Access[0].Overlaps(s.Access[1]) {
			return true
		}
	}
	return false
}

// The clock of chaos and the checker agree: where nothing is reported the bytes are the
// same for every seed, and where something is they are not for some.
func TestFilesUnderChaos(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // each run is a machine
	n := chaosSeeds()
	all := files(t)
	var runs, latest atomic.Int64
	forSeeds(0, len(all), func(i uint64) bool {
		p := all[i]
		bad := misordered(oracle.Reports(p))
		seed, how := shown(p, n)
		runs.Add(int64(min(seed+1, n)))
		switch {
		case !bad && seed < n && !undefined(p):
			t.Errorf("%s:%d: %s: nothing is reported, and seed %d shows: %s", p.File, p.Line, p.Name, seed, how)
		case bad && seed == n && n == manySeeds:
			t.Errorf("%s:%d: %s: none of %d seeds shows what is reported", p.File, p.Line, p.Name, n)
		case bad && seed < n:
			raise(&latest, int64(seed))
			t.Logf("%s: seed %d: %s", p.Name, seed, how)
		}
		return true
	})
	t.Logf("%d programs, %d runs; what is reported is shown by seed %d at the latest", len(all), runs.Load(), latest.Load())
}

func raise(v *atomic.Int64, to int64) {
	for old := v.Load(); old < to && !v.CompareAndSwap(old, to); old = v.Load() {
	}
}

// Random programs of which nothing is reported have the same bytes for all of a few seeds.
// Of the others some seed shows it mostly.
func TestRandomProgramsUnderChaos(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	const seeds = 12
	from := firstSeed()
	wrong := func(p *program.Program) bool {
		n, _ := shown(p, seeds)
		return !misordered(oracle.Reports(p)) && n < seeds && !undefined(p)
	}
	var clean, bad, seen atomic.Int64
	var failed atomic.Bool
	n := max(randomPrograms()/40, 1)
	forSeeds(from, n, func(seed uint64) bool {
		p := random.Program(seed)
		if misordered(oracle.Reports(p)) {
			bad.Add(1)
			if n, _ := shown(p, seeds); n < seeds {
				seen.Add(1)
			}
			return !failed.Load()
		}
		clean.Add(1)
		if wrong(p) && failed.CompareAndSwap(false, true) {
			small := random.Shrink(p, wrong)
			at, how := shown(small, seeds)
			t.Errorf("go test -run %s . -seed %d -programs 1: nothing is reported, and seed %d of the clock shows: %s\n%s", t.Name(), seed, at, how, small)
		}
		return !failed.Load()
	})
	t.Logf("-seed %d: %d programs without a race; %d with one, of which %d show it in %d seeds", from, clean.Load(), bad.Load(), seen.Load(), seeds)
}
