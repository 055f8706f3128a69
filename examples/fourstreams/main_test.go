package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/gpuactor/gpuactor/actor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onHardware says that the tests run on a GPU, where one is enough: two contexts
// stand in for two devices.
var onHardware = os.Getenv("GPUACTOR_RUNTIME") == "nvidia"

func arguments(more ...string) []string {
	if onHardware {
		return append([]string{"-runtime", "nvidia", "-virtual", "2"}, more...)
	}
	return append([]string{"-runtime", "sim"}, more...)
}

func systemOptions() []actor.Option {
	if onHardware {
		return options{runtime: "nvidia", virtual: 2}.system()
	}
	return options{runtime: "sim"}.system()
}

// onSimulator skips a test that replaces what kernels do.
func onSimulator(t *testing.T) []actor.Option {
	t.Helper()
	if onHardware {
		t.Skip("the test decides what kernels do")
	}
	return systemOptions()
}
