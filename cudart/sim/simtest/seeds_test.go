package simtest

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// relay fills memory on one stream and downloads it on another, 8 times.
func relay(waits bool) func(t testing.TB, rt cudart.Runtime) {
	return func(t testing.TB, rt cudart.Runtime) {
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		ctx, err := rt.RetainPrimary(0)
		ok(err)
		ok(rt.SetCurrent(ctx))
		t.Cleanup(func() { ok(rt.SetCurrent(0)) })
		pool, err := rt.CreatePool(ctx)
		ok(err)
		var s [2]cudart.Stream
		for i := range s {
			s[i], err = rt.CreateStream(ctx)
			ok(err)
		}
		d, err := rt.Alloc(ctx, pool, 8, s[0])
		ok(err)
		h, err := rt.AllocHost(ctx, 8)
		ok(err)
		e, err := rt.CreateEvent(ctx, false)
		ok(err)
		l, err := cudart.NewList(0)
		ok(err)
		t.Cleanup(l.Close)
		for i := range byte(8) {
			l.Reset()
			l.Fill(d, uint32(i), 1, 8)
			l.Record(e)
			_, err := rt.Submit(ctx, s[0], l)
			ok(err)
			l.Reset()
			if waits || i != 5 {
				l.Wait(e)
			}
			l.CopyDtoH(h, d, 8)
			_, err = rt.Submit(ctx, s[1], l)
			ok(err)
			ok(rt.SynchronizeStream(ctx, s[1]))
			for _, b := range unsafe.Slice((*byte)(h), 8) {
				if b != i {
					t.Fatalf("item %d: a byte is %d", i, b)
				}
			}
		}
	}
}

func TestSeeds(t *testing.T) { Seeds(t, sim.Config{}, 300, relay(true)) }

// A failing seed is printed with how to run it again, and shrunk.
func TestAFailingSeedIsExplained(t *testing.T) {
	for seed := range uint64(100) {
		a := once(t, sim.Config{}, sim.Chaos(seed), relay(false))
		if !a.Failed() {
			continue
		}
		text := explain(t, sim.Config{}, seed, a, relay(false))
		t.Log(text)
		m := regexp.MustCompile(`(?m)^or a shorter one \((\d+) choices of (\d+)\):\n  GPUACTOR_SIM_SCHEDULE='(.*)' go test -run '\^TestAFailingSeedIsExplained\$' github.com/gpuactor/gpuactor/cudart/sim/simtest$`).FindStringSubmatch(text)
		if m == nil || !strings.Contains(text, "GPUACTOR_SIM_SEED=") || !strings.Contains(text, "item 5") {
			t.Fatal("it is not said how")
		}
		s, err := sim.ParseSchedule(m[3])
		if err != nil || s.Len() > 1 {
			t.Errorf("%v has %d choices (%v); none is needed, the calmest device makes it fail", s, s.Len(), err)
		}
		if !once(t, sim.Config{}, sim.Replay(s), relay(false)).Failed() {
			t.Error("the schedule does not fail")
		}
		return
	}
	t.Fatal("no seed of 100 fails")
}

// A run that fails, panics or skips ends as a test does, and cleans up on its thread.
func TestARunEndsAsATestDoes(t *testing.T) {
	var order string
	for name, f := range map[string]func(a testing.TB){
		"Fatal":        func(a testing.TB) { a.Fatal("so") },
		"panic":        func(testing.TB) { panic("so") },
		"in a cleanup": func(a testing.TB) { a.Cleanup(func() { a.Fatalf("so") }) },
	} {
		order = ""
		a := &attempt{TB: t}
		a.run(func() {
			a.Cleanup(func() { order += "1" })
			a.Cleanup(func() { order += "2" })
			f(a)
		})
		if !a.Failed() || order != "21" || !strings.Contains(a.text(), "so") {
			t.Errorf("%s: failed %v, cleanups %q, text %q", name, a.Failed(), order, a.text())
		}
	}
	a := &attempt{TB: t}
	if a.run(func() { a.Skip("so") }); !a.Skipped() || a.Failed() {
		t.Error("not skipped")
	}
	a = &attempt{TB: t}
	if a.run(runtime.Goexit); !a.Failed() { // as by FailNow of a test around it
		t.Error("one that does not return passes")
	}
}
