package sim

import (
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

// A program that gets its runtime from the environment is told what is wrong there.
func TestOpenRefusesWhatIsNoSeed(t *testing.T) {
	t.Setenv(EnvChaos, "x")
	rt, err := cudart.Open(cudart.Options{Name: "sim"})
	if err == nil || !strings.Contains(err.Error(), `GPUACTOR_SIM_CHAOS="x" is no seed`) {
		t.Errorf("%v, %v", rt, err)
	}
}
