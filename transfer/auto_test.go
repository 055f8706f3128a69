package transfer

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/cudart"
)

var saidBefore int

// TestF3_WhichRuntime: a program that imports both runtimes, on a machine without a
// driver: auto takes the simulator and says so once, an option wins over the
// environment, and nvidia says what is missing.
func TestF3_WhichRuntime(t *testing.T) {
	if rt, err := cudart.Open(cudart.Options{Name: "nvidia"}); err == nil {
		_ = rt.Close()
		t.Skip("this machine has a driver and a device")
	} else if !errors.Is(err, cudart.ErrNoDriver) && !errors.Is(err, cudart.ErrNoDevices) {
		t.Skipf("the driver of this machine does not work: %v", err)
	}
	said := 0
	for _, c := range []struct {
		env, option string
		works       bool
	}{
		{"", "", true},
		{"", "auto", true},
		{"auto", "", true},
		{"sim", "", true},
		{"", "sim", true},
		{"nvidia", "sim", true},
		{"nvidia", "auto", true},
		{"nvidia", "", false},
		{"", "nvidia", false},
		{"sim", "nvidia", false},
		{"", "none", false},
	} {
		t.Run(c.env+" "+c.option, func(t *testing.T) {
			t.Setenv(cudart.Env, c.env)
			var log bytes.Buffer
			opts := []actor.Option{actor.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))}
			if c.option != "" {
				opts = append(opts, actor.WithRuntime(c.option))
			}
			sys, err := actor.NewSystem(opts...)
			said += strings.Count(log.String(), "simulator")
			if !c.works {
				if err == nil {
					t.Fatalf("it runs on %s", sys.Runtime().Name())
				}
				if text := err.Error(); !strings.Contains(text, "driver") && !strings.Contains(text, `"none"`) {
					t.Errorf("%q does not say what is missing", text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if name := sys.Runtime().Name(); name != "sim" {
				t.Errorf("it runs on %s", name)
			}
			if err := sys.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	if saidBefore += said; saidBefore != 1 { // once for each process: a test may run several times
		t.Errorf("that it runs on the simulator was said %d times", saidBefore)
	}
}
