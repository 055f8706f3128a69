package check_test

import (
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// TestConformance: with a checker around it a runtime is what it was.
func TestConformance(t *testing.T) {
	cudarttest.Run(t, func(t *testing.T) cudart.Runtime { return check.New(sim.New(sim.Config{}), check.Options{}) })
}
