package cudart

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
)

// named is a runtime that does nothing but have a name.
type named struct {
	Runtime
	name string
}

func (n named) Name() string { return n.name }

// outcome is what opening a runtime gives: nil for a runtime.
type outcome struct{ err error }

// imported makes these the runtimes that the program imports, for one test.
func imported(t *testing.T, runtimes map[string]*outcome) {
	t.Helper()
	registry.Lock()
	open, said := registry.open, registry.said
	registry.open, registry.said = nil, false
	registry.Unlock()
	t.Cleanup(func() {
		registry.Lock()
		registry.open, registry.said = open, said
		registry.Unlock()
	})
	for name, o := range runtimes {
		if o == nil {
			continue
		}
		Register(name, func() (Runtime, error) {
			if o.err != nil {
				return nil, o.err
			}
			return named{name: name}, nil
		})
	}
}

var (
	works     = &outcome{}
	noDriver  = &outcome{fmt.Errorf("opening libcuda.so.1: %w", ErrNoDriver)}
	noDevices = &outcome{ErrNoDevices}
	tooOld    = &outcome{&VersionError{Entry: "cuMemPoolCreate", Needs: 11020, Driver: 10010}}
	broken    = &outcome{&Error{Code: ErrUnknown, Call: "cuInit"}}
)

func TestOpen(t *testing.T) {
	for _, c := range []struct {
		name         string
		option, env  string
		nvidia, sim  *outcome
		want         string   // the runtime's name, or
		wantErr      error    // what the error is, and
		says         []string // what it says
		saysInTheLog bool
	}{
		{name: "auto takes the driver", nvidia: works, sim: works, want: "nvidia"},
		{name: "auto without the simulator", nvidia: works, want: "nvidia"},
		{name: "auto, no driver", nvidia: noDriver, sim: works, want: "sim", saysInTheLog: true},
		{name: "auto, no device", nvidia: noDevices, sim: works, want: "sim", saysInTheLog: true},
		{name: "auto, only the simulator", sim: works, want: "sim"},
		{name: "auto by name", option: "auto", nvidia: noDriver, sim: works, want: "sim", saysInTheLog: true},
		{name: "auto, an old driver", nvidia: tooOld, sim: works, wantErr: tooOld.err},
		{name: "auto, a broken driver", nvidia: broken, sim: works, wantErr: ErrUnknown},
		{name: "auto, a broken simulator", sim: broken, wantErr: ErrUnknown},
		{name: "auto, no driver, no simulator", nvidia: noDriver, wantErr: ErrNoDriver, says: []string{"\timport _ \"github.com/gpuactor/gpuactor/cudart/sim\""}},
		{name: "auto, no device, no simulator", nvidia: noDevices, wantErr: ErrNoDevices, says: []string{"cudart/sim"}},
		{name: "auto, nothing imported", says: []string{"imports no runtime", "\n\timport _ \"github.com/gpuactor/gpuactor/cudart/nvidia\"\n\timport _ \"github.com/gpuactor/gpuactor/cudart/sim\""}},

		{name: "nvidia", option: "nvidia", nvidia: works, sim: works, want: "nvidia"},
		{name: "nvidia never becomes the simulator", option: "nvidia", nvidia: noDriver, sim: works, wantErr: ErrNoDriver},
		{name: "nvidia, not imported", option: "nvidia", sim: works, says: []string{`"nvidia"`, "imports: sim", "cudart/nvidia"}},
		{name: "sim", option: "sim", nvidia: works, sim: works, want: "sim"},
		{name: "sim, not imported", option: "sim", nvidia: works, says: []string{`"sim"`, "imports: nvidia", "cudart/sim"}},
		{name: "no such runtime", option: "abacus", nvidia: works, sim: works, says: []string{`cudart: "abacus": there is no runtime of that name`, "known are: auto, nvidia, sim"}},

		{name: "the environment chooses", env: "sim", nvidia: works, sim: works, want: "sim"},
		{name: "the environment chooses auto", env: "auto", nvidia: works, sim: works, want: "nvidia"},
		{name: "the option wins", option: "nvidia", env: "sim", nvidia: works, sim: works, want: "nvidia"},
		{name: "the option wins with auto", option: "auto", env: "sim", nvidia: works, sim: works, want: "nvidia"},
		{name: "the environment names no runtime", env: "SIM", sim: works, says: []string{`GPUACTOR_RUNTIME="SIM": there is no runtime of that name`, "known are: auto, nvidia, sim"}},
		{name: "the environment names what is not imported", env: "sim", says: []string{`GPUACTOR_RUNTIME="sim"`, "it imports: none", "\timport _"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			imported(t, map[string]*outcome{"nvidia": c.nvidia, "sim": c.sim})
			t.Setenv(Env, c.env)
			var log bytes.Buffer
			rt, err := Open(Options{Name: c.option, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if c.want != "" {
				if err != nil || rt.Name() != c.want {
					t.Fatalf("%v, %v, want %s", rt, err, c.want)
				}
			} else if err == nil || rt != nil {
				t.Fatalf("%v, %v, want an error", rt, err)
			}
			if c.wantErr != nil && !errors.Is(err, c.wantErr) {
				t.Errorf("%v is not %v", err, c.wantErr)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
			if said := strings.Contains(log.String(), "simulator"); said != c.saysInTheLog {
				t.Errorf("the log says %q", log.String())
			}
		})
	}
}

func TestOpenSaysSimulatedOnce(t *testing.T) {
	imported(t, map[string]*outcome{"nvidia": noDriver, "sim": works})
	t.Setenv(Env, "")
	var log bytes.Buffer
	for range 3 {
		if _, err := Open(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), ErrNoDriver.Error()) {
		t.Errorf("the log has %d lines: %s", n, log.String())
	}
}

func TestRegister(t *testing.T) {
	imported(t, map[string]*outcome{"sim": works, "nvidia": works})
	if got := Registered(); !slices.Equal(got, []string{"nvidia", "sim"}) {
		t.Errorf("Registered: %v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a second registration of a name did not panic")
		}
	}()
	Register("sim", func() (Runtime, error) { return nil, nil })
}
