package actortest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/actor/actortest"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
)

func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	t.Cleanup(cancel)
	return ctx
}

// withoutWaits is a simulator that no stream waits on.
func withoutWaits(rt cudart.Runtime) cudart.Runtime {
	return cudarttest.Without(rt, func(c cudart.Command) bool { return c.Op == cudart.OpWait })
}

func handsOff(t testing.TB, sys *actor.System) { ok(t, pipeline(t.Context(), sys)) }

// Where the receivers' waits are taken out of hand-offs, wrong bytes are seen soon, and
// again with the same seed, and with its schedule alone. The checker above knows nothing
// of what was taken out.
func TestAMissingWaitIsSeen(t *testing.T) {
	c := actortest.Config{Around: withoutWaits}
	for seed := range uint64(50) {
		o := c.Try(t, seed, handsOff)
		if !o.Failed() {
			continue
		}
		if !strings.Contains(o.String(), "word ") {
			t.Fatalf("something else went wrong: %v", o)
		}
		for range 3 {
			if again := c.Try(t, seed, handsOff); again.String() != o.String() || again.Hash != o.Hash {
				t.Fatalf("%v\nand then %v", o, again)
			}
			if again := c.Replay(t, o.Schedule, handsOff); fmt.Sprint(again.Failures) != fmt.Sprint(o.Failures) || again.Hash != o.Hash {
				t.Fatalf("%v\nand by its schedule %v", o, again)
			}
		}
		t.Logf("found by seed %d", seed)
		return
	}
	t.Error("no seed of 50 shows it")
}

// A checker below which nothing is taken out reports it, whatever the order.
func TestAMissingWaitIsReported(t *testing.T) {
	var found []*check.Report
	c := actortest.Config{NoCheck: true, Around: func(rt cudart.Runtime) cudart.Runtime {
		return withoutWaits(check.New(rt, check.Options{Report: func(r *check.Report) { found = append(found, r) }}))
	}}
	c.Try(t, 0, handsOff)
	if len(found) == 0 || found[0].Kind != check.Race {
		t.Errorf("%v", found)
	}
}
