package sim_test

import (
	"fmt"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// What is ordered is never disturbed.
func TestConformanceUnderChaos(t *testing.T) {
	seeds := 8
	if testing.Short() {
		seeds = 2
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			cudarttest.Run(t, func(t *testing.T) cudart.Runtime {
				return sim.New(sim.Config{Clock: sim.Chaos(seed)})
			})
		})
	}
}
