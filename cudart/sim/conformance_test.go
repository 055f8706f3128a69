package sim_test

import (
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

func TestConformance(t *testing.T) {
	cudarttest.Run(t, func(t *testing.T) cudart.Runtime { return sim.New(sim.Config{}) })
}

func TestConformanceInVirtualTime(t *testing.T) {
	cudarttest.Run(t, func(t *testing.T) cudart.Runtime { return sim.New(sim.Config{Clock: sim.Virtual()}) })
}
