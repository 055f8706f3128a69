package actor

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// TestO1_ARaceThroughRawIsReported: what goes around the API is reported, with both
// actors, both places and the edge that is missing.
func TestO1_ARaceThroughRawIsReported(t *testing.T) {
	for _, c := range []struct {
		name, env string
		options   func(report func(*check.Report)) []Option
		reports   int
		logged    bool
	}{
		{"by the option", "", func(f func(*check.Report)) []Option { return []Option{WithCheck(f)} }, 1, true},
		{"by the environment", "race", func(func(*check.Report)) []Option { return nil }, 0, true},
		{"around a checker, by the environment", "race", func(f func(*check.Report)) []Option {
			return []Option{WithOpenRuntime(check.New(sim.New(sim.Config{}), check.Options{Report: f}))}
		}, 1, false},
		{"not at all", "", func(func(*check.Report)) []Option { return nil }, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(check.Env, c.env)
			var log bytes.Buffer
			var got []*check.Report
			opts := append([]Option{WithRuntime("sim"), WithLogger(slog.New(slog.NewTextHandler(&log, nil)))},
				c.options(func(r *check.Report) { got = append(got, r) })...)
			sys, err := NewSystem(opts...)
			if err != nil {
				t.Fatal(err)
			}
			if err := sys.Load(module); err != nil {
				t.Fatal(err)
			}
			race(t, sys)
			if err := sys.Close(soon(t)); err != nil {
				t.Error(err)
			}
			if rt, ok := sys.Runtime().(*check.Checker); ok && !sys.ownRT {
				if err := rt.Close(); err != nil {
					t.Error(err)
				}
			}
			if len(got) != c.reports {
				t.Fatalf("%d reports, want %d: %v", len(got), c.reports, got)
			}
			for _, r := range got {
				if r.Kind != check.Race || r.First.Stream != "writer" || r.Second.Stream != "intruder" || c.logged && !strings.Contains(r.First.Site, "rig_test.go:") {
					t.Errorf("the report is %v", r)
				}
			}
			if logged := strings.Contains(log.String(), "nothing orders two commands"); logged != c.logged {
				t.Errorf("logged: %v, want %v:\n%s", logged, c.logged, &log)
			}
		})
	}
}

// race has one actor fill memory that another one fills too, with nothing in between.
// Neither thread looks at a stream meanwhile, so that the host learns nothing.
func race(t *testing.T, sys *System) {
	lent, done := make(chan cudart.DevicePtr, 1), make(chan struct{})
	writer := start(t, sys, "writer", sys.Device(0), func(s *Stream) error {
		defer close(lent)
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		if _, err := s.CUDA().Flush(false); err != nil {
			return err
		}
		lent <- b.Block().Ptr()
		<-done
		return b.Release(s)
	})
	finish(t, writer, start(t, sys, "intruder", sys.Device(0), func(s *Stream) error {
		defer close(done)
		at := <-lent
		return s.Raw(func(raw RawStream) error {
			l, err := cudart.NewList(0)
			if err != nil {
				return err
			}
			defer l.Close()
			l.Fill(at, 2, 1, 4)
			_, err = sys.Runtime().Submit(raw.Context, raw.Stream, l)
			return err
		})
	}))
}

func TestAnUnknownCheckIsRefused(t *testing.T) {
	t.Setenv(check.Env, "races")
	if _, err := NewSystem(WithRuntime("sim")); err == nil || !strings.Contains(err.Error(), `GPUACTOR_CHECK="races": it is unset, or race`) {
		t.Errorf("NewSystem: %v", err)
	}
}
