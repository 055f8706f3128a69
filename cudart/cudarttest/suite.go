// Package cudarttest states what a [cudart.Runtime] must do, as tests.
//
// A runtime's package runs the whole of it in one test of its own:
//
//	func TestConformance(t *testing.T) {
//		cudarttest.Run(t, func(t *testing.T) cudart.Runtime { return sim.New(sim.Config{}) })
//	}
//
// The suite states what CUDA guarantees and no more, and is the same for every
// runtime. It proves order with gates: kernels that hold a stream until the test
// opens them, so that "waits for" and "does not wait for" are facts and not
// timings.
package cudarttest

import (
	"runtime"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// check is one test. It has a fixture of its own, locked to its OS thread, with
// the first place's context current.
type check struct {
	name string
	run  func(f *fixture)
}

var groups = []struct {
	name   string
	checks []check
}{
	{"device", deviceChecks},
	{"context", contextChecks},
	{"stream", streamChecks},
	{"event", eventChecks},
	{"defaults", defaultsChecks},
	{"memory", memoryChecks},
	{"host", hostChecks},
	{"copy", copyChecks},
	{"peer", peerChecks},
	{"module", moduleChecks},
	{"launch", launchChecks},
	{"graph", graphChecks},
	{"submit", submitChecks},
	{"error", errorChecks},
	{"thread", threadChecks},
	{"sticky", stickyChecks},
}

// Run runs the suite on the runtime that open opens, and closes that. The tests
// of sticky faults run the test binary again, as a child that is lost on
// purpose; with -short they are skipped.
func Run(t *testing.T, open func(t *testing.T) cudart.Runtime) {
	s := newSuite(t, open(t))
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.checks {
				t.Run(c.name, func(t *testing.T) { c.run(newFixture(t, s)) })
			}
		})
	}
}

// place is a context with the suite's kernels loaded.
type place struct {
	device    int
	ctx       cudart.Context
	module    cudart.Module
	functions map[string]cudart.Function
}

// suite is what all checks share, because it is slow to make: contexts and
// modules.
type suite struct {
	rt    cudart.Runtime
	infos []cudart.DeviceInfo

	main *place // the primary context of device 0
	twin *place // one more context of device 0, a stand-in for another device
	far  *place // the primary context of device 1, nil where there is none

	gateLimit time.Duration // of the gates closed from here on
	lostTo    string        // the check that a fault ended all contexts in
}

func newSuite(t *testing.T, rt cudart.Runtime) *suite {
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	t.Cleanup(func() { ok(t, rt.Close(), "Close") })
	infos, err := rt.Devices()
	ok(t, err, "Devices")
	if len(infos) == 0 {
		t.Fatal("the runtime has no device")
	}
	s := &suite{rt: rt, infos: infos, gateLimit: patience}
	s.main = s.primary(t, 0)
	s.twin = s.created(t, 0)
	if len(infos) > 1 {
		s.far = s.primary(t, 1)
	}
	ok(t, rt.SetCurrent(0), "SetCurrent(0)")
	return s
}

func (s *suite) primary(t *testing.T, device int) *place {
	ctx, err := s.rt.RetainPrimary(device)
	ok(t, err, "RetainPrimary")
	t.Cleanup(func() { ok(t, s.rt.ReleasePrimary(device), "ReleasePrimary") })
	return s.load(t, &place{device: device, ctx: ctx})
}

func (s *suite) created(t *testing.T, device int) *place {
	ctx, err := s.rt.CreateContext(device)
	ok(t, err, "CreateContext")
	t.Cleanup(func() { ok(t, s.rt.DestroyContext(ctx), "DestroyContext") })
	return s.load(t, &place{device: device, ctx: ctx})
}

func (s *suite) load(t *testing.T, p *place) *place {
	ok(t, s.rt.SetCurrent(p.ctx), "SetCurrent")
	m, err := s.rt.LoadModule(p.ctx, Kernels)
	ok(t, err, "LoadModule")
	p.module, p.functions = m, map[string]cudart.Function{}
	for name := range Kernels.Go {
		f, _, err := s.rt.Function(p.ctx, m, name)
		ok(t, err, "Function "+name)
		p.functions[name] = f
	}
	t.Cleanup(func() {
		ok(t, s.rt.SetCurrent(p.ctx), "SetCurrent")
		ok(t, s.rt.UnloadModule(p.ctx, m), "UnloadModule")
		ok(t, s.rt.SetCurrent(0), "SetCurrent(0)")
	})
	return p
}

// pair is two places, to send from one to the other.
type pair struct {
	name     string
	from, to *place
}

func (s *suite) pairs() []pair {
	p := []pair{{"to another context", s.main, s.twin}, {"from another context", s.twin, s.main}}
	if s.far != nil {
		p = append(p, pair{"to another device", s.main, s.far}, pair{"from another device", s.far, s.main})
	}
	return p
}

func ok(t *testing.T, err error, doing string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", doing, err)
	}
}
