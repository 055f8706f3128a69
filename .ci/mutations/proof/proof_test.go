package proof

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/cudart/check"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// programs are run in this order, each for its seeds.
var programs = []struct {
	name   string
	run    func(*actor.System) error
	seeds  int
	budget uint64 // bytes of each device; 0: what there is
}{
	{"owned", owned, 2, 0},
	{"pinned-owned", pinnedOwned, 2, 0},
	{"poisoned", poisoned, 2, 0},
	{"threads", threads, 2, 0},
	{"messages", messages, 10, 0},
	{"hand-off", handOff, 40, 0},
	{"one-way", oneWay, 40, 0},
	{"dropped", dropped, 40, 0},
	{"pull", pulled, 40, 0},
	{"pinned", pinned, 40, 0},
	{"unread", unread, 40, 0},
	{"unread-here", unreadHere, 40, 0},
	{"changed", changed, 2, 0},
	{"stray", stray, 2, 0},
	{"told", told, 4, blocks * 4 * n},
	{"budget", budget, 20, 8 * n},
	{"synchronised", synchronised, 40, 0},
	{"slices", largeSlices, 2, 0},
	{"raw", raw, 40, 0},
}

// settle gives everybody else the time to do what they can.
func settle() { time.Sleep(5 * time.Millisecond) }

// TestProof runs every program for its seeds, and stops at the first thing that is
// wrong, which the tool that switches protections off reads.
func TestProof(t *testing.T) {
	only := os.Getenv("GPUACTOR_PROOF")
	for _, p := range programs {
		if only != "" && only != p.name {
			continue
		}
		began := time.Now()
		for seed := range uint64(p.seeds) {
			if by := once(p.run, p.budget, seed); by != "" {
				fmt.Printf("FOUND seeds=%d program=%s by=%s\n", seed+1, p.name, by)
				t.FailNow()
			}
		}
		t.Log(p.name, time.Since(began)/time.Duration(p.seeds))
	}
}

// once runs a program under a seed, and says what was wrong.
func once(run func(*actor.System) error, budget, seed uint64) (by string) {
	rt := sim.New(sim.Config{Clock: sim.Chaos(seed)})
	defer func() { _ = rt.Close() }()
	var report *check.Report
	sys, err := actor.NewSystem(actor.WithOpenRuntime(rt), actor.WithBudget(budget), actor.WithPolicy(actor.Frugal), actor.WithCheck(func(r *check.Report) {
		if report == nil {
			report = r
		}
	}))
	if err != nil {
		return "error: " + err.Error()
	}
	if err := sys.Load(module); err != nil {
		return "error: " + err.Error()
	}
	done := make(chan error, 1)
	go func() { done <- run(sys) }()
	select {
	case err = <-done:
	case <-time.After(5 * time.Second):
		return "everything stands still"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	closed := sys.Close(ctx)
	switch {
	case report != nil:
		return "checker: " + report.String()
	case err != nil:
		return outcome(err)
	case closed != nil:
		return "close: " + closed.Error()
	}
	return ""
}
