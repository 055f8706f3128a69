package check_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// TestKinds has programs on the simulator, whose calls are numbered from 1.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(r *rig, a, b queue)
		want []string
	}{
		{"no edge", func(r *rig, a, b queue) {
			x := a.alloc(64)
			a.sync()
			a.write(x, 64)
			b.read(x, 64)
			a.sync()
			b.sync()
			b.free(x)
		}, []string{"race 3 4"}},
		{"an edge", func(r *rig, a, b queue) {
			x, e := a.alloc(64), r.event(0)
			a.write(x, 64)
			a.record(e)
			b.wait(e)
			b.read(x, 64)
			b.free(x)
		}, nil},
		{"a scalar is no access", func(r *rig, a, b queue) {
			x := a.alloc(64)
			a.sync()
			a.write(x, 64)
			b.kernel(cudart.Arg{Slot: uint64(x), Bytes: 64})
			a.free(x)
		}, nil},
		{"allocated elsewhere", func(r *rig, a, b queue) {
			x := a.alloc(64)
			b.write(x, 64)
			a.sync()
			b.sync()
			a.free(x)
		}, []string{"race 1 2"}},
		{"use after free, and after the memory's next life began", func(r *rig, a, b queue) {
			x := a.alloc(64)
			a.free(x)
			a.read(x, 64)
			a.sync()
			y := a.alloc(64)
			if x != y {
				r.Skip("the address is not given out again")
			}
			a.read(y, 64)
			a.free(y)
		}, []string{"use-after-free 2 3"}},
		{"freed twice", func(r *rig, a, b queue) {
			x := a.alloc(64)
			a.free(x)
			if _, err := a.submit(func(l *cudart.List) { l.Free(x) }); err == nil {
				r.Error("the simulator frees twice")
			}
		}, []string{"use-after-free 2 3"}},
		{"copies and fills", func(r *rig, a, b queue) {
			x, y, h := a.alloc(64), a.alloc(64), r.pinned(64)
			a.sync()
			a.fill(x, 64) // 4
			b.do(func(l *cudart.List) { l.CopyDtoD(y, x, 32) })
			a.do(func(l *cudart.List) { l.CopyHtoD(y+16, h, 16) })
			b.do(func(l *cudart.List) { l.CopyDtoH(h, x+60, 4) })
			a.sync()
			b.sync()
			a.free(x)
			a.free(y)
		}, []string{"race 4 5", "race 5 6", "race 4 7", "race 6 7"}},
		{"a peer copy is ordered on one stream", func(r *rig, a, b queue) {
			far := r.stream(1, "far")
			x, y := a.alloc(64), far.alloc(64)
			a.sync()
			far.sync()
			a.write(x, 64) // 5
			far.do(func(l *cudart.List) { l.CopyPeer(y, r.ctx[1], x, r.ctx[0], 64) })
			far.read(y, 64)
			far.sync()
			a.sync()
			a.free(x)
			far.free(y)
		}, []string{"race 5 6"}},
		{"a download is read too early", func(r *rig, a, b queue) {
			x, h := a.alloc(64), r.pinned(64)
			a.do(func(l *cudart.List) { l.CopyDtoH(h, x, 64) }) // 2
			r.line++
			r.HostAccess(h, 64, false)
			a.sync()
			r.HostAccess(h, 64, true)
			a.free(x)
		}, []string{"race 2 3"}},
		{"an upload's source is overwritten", func(r *rig, a, b queue) {
			x, h := a.alloc(64), r.pinned(64)
			r.HostAccess(h, 64, true)
			a.do(func(l *cudart.List) { l.CopyHtoD(x, h, 32) }) // 2
			r.HostAccess(h, 64, false)
			r.HostAccess(unsafe.Add(h, 32), 32, true)
			r.line++
			r.HostAccess(unsafe.Add(h, 31), 1, true)
			a.free(x)
		}, []string{"race 2 3"}},
		{"pinned memory is freed under a copy", func(r *rig, a, b queue) {
			x := a.alloc(64)
			a.sync()
			h, err := r.AllocHost(r.ctx[0], 64)
			r.ok(err)
			a.do(func(l *cudart.List) { l.CopyHtoD(x, h, 32) }) // 3
			a.free(x)
			r.ok(r.Unwrap().SynchronizeContext(r.ctx[0])) // which the checker does not see
			r.line++
			r.ok(r.FreeHost(r.ctx[0], h))
		}, []string{"race 3 5"}},
		{"a query tells the host", func(r *rig, a, b queue) {
			x, e := a.alloc(64), r.event(0)
			a.write(x, 64)
			a.record(e)
			for done := false; !done; {
				var err error
				done, err = r.QueryEvent(e)
				r.ok(err)
			}
			b.write(x, 64)
			b.free(x)
		}, nil},
		{"another device is synchronised", func(r *rig, a, b queue) {
			x := a.alloc(64)
			a.sync()
			a.write(x, 64) // 3
			r.on(1)
			r.ok(r.SynchronizeContext(r.ctx[1]))
			b.write(x, 64)
			r.ok(r.SynchronizeContext(r.ctx[0]))
			a.free(x)
		}, []string{"race 3 4"}},
		{"a wait for nothing", func(r *rig, a, b queue) { a.wait(r.event(0)) }, []string{"unrecorded-wait 1"}},
		{"another context's event", func(r *rig, a, b queue) {
			e := r.event(1)
			if _, err := a.submit(func(l *cudart.List) { l.Record(e) }); !errors.Is(err, cudart.ErrInvalidHandle) {
				r.Errorf("record: %v", err)
			}
			b.wait(e)
		}, []string{"wrong-context 1", "unrecorded-wait 2"}},
		{"a destroyed event", func(r *rig, a, b queue) {
			e := r.event(0)
			a.record(e)
			r.line++
			r.ok(r.DestroyEvent(r.ctx[0], e))
			if _, err := b.submit(func(l *cudart.List) { l.Wait(e) }); err == nil {
				r.Error("the simulator waits for a destroyed event")
			}
			r.line++
			if _, err := r.QueryEvent(e); err == nil {
				r.Error("the simulator asks a destroyed event")
			}
			r.line++
			if err := r.DestroyEvent(r.ctx[0], e); err == nil {
				r.Error("the simulator destroys twice")
			}
		}, []string{"bad-handle 3", "bad-handle 4", "bad-handle 5"}},
		{"what was refused and skipped never happened", func(r *rig, a, b queue) {
			x, e, bad := a.alloc(64), r.event(0), r.event(1)
			a.sync()
			i, err := a.submit(func(l *cudart.List) { // 3
				l.Record(bad)
				l.Fill(x, 0, 1, 64)
				l.Record(e)
			})
			if i != 0 || err == nil {
				r.Errorf("refused %d, %v", i, err)
			}
			b.write(x, 64) // the fill is not there to race with,
			b.wait(e)      // and the record is
			b.free(x)
		}, []string{"wrong-context 3"}},
		{"the legacy stream", func(r *rig, a, b queue) {
			x := a.alloc(64)
			a.sync()
			h, err := r.CreateBlockingStream(r.ctx[0])
			r.ok(err)
			blocking, legacy := queue{r, 0, h}, queue{r, 0, r.LegacyStream(r.ctx[0])}
			blocking.write(x, 64) // 3
			legacy.write(x, 64)
			blocking.write(x, 64)
			a.read(x, 64) // 6
			r.ok(r.SynchronizeContext(r.ctx[0]))
			a.free(x)
			r.ok(r.DestroyStream(r.ctx[0], h))
		}, []string{"race 3 6", "race 4 6", "race 5 6"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			c.run(r, r.stream(0, "a"), r.stream(0, "b"))
			r.want(c.want...)
		})
	}
}

// TestReportText: a person understands it at once, and a program reads it.
func TestReportText(t *testing.T) {
	r := newRig(t)
	a, b := r.stream(0, "producer"), r.stream(0, "consumer")
	x, h := a.alloc(64), r.pinned(64)
	r.NameMemory(uint64(x), "x")
	r.NameMemory(uint64(uintptr(h)), "h")
	a.sync()
	a.write(x, 64)
	r.NameCommands(b.h, []cudart.CommandName{{Index: 1, Name: "download", Site: "main.go:30"}})
	b.do(func(l *cudart.List) {
		l.Wait(r.event(0))
		l.CopyDtoH(h, x+8, 16)
	})
	r.line++
	r.HostAccess(h, 1, false)
	b.do(func(l *cudart.List) { // the names are used up
		l.Record(r.event(0))
		l.Fill(x, 0, 1, 1)
	})
	a.sync()
	b.sync()
	a.free(x)
	reports := r.Reports()
	if last := reports[len(reports)-1].Second; last == nil || last.Name != "" || last.Site != "" {
		t.Errorf("the fill is %v", last)
	}
	if len(reports) != 4 || r.Count() != 4 {
		t.Fatalf("%d reports, and %d counted: %v", len(reports), r.Count(), reports)
	}
	for i, want := range []string{
		`unrecorded-wait: the event was never recorded, so that there is nothing to wait for
  command: wait on consumer (device 0)
  fix:     record the event, and submit that, before anybody waits for it`,
		`race: nothing orders two commands that touch bytes 8 to 23 of x
  first:   launch "touch" on producer (device 0, command 2), writes, at 3
  second:  copy to host "download" on consumer (device 0, command 1), reads, at main.go:30
  fix:     record an event on producer behind the first, and have consumer wait for it before the second`,
		`race: nothing orders two commands that touch byte 0 of h
  first:   copy to host "download" on consumer (device 0, command 1), writes, at main.go:30
  second:  host read, reads, at 5
  fix:     synchronise with consumer behind the first (or query an event recorded there until it is done) before the second`,
	} {
		if got := reports[i].String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if got := reports[i].Error(); got != "check: "+want {
			t.Errorf("as an error it is %q", got)
		}
	}
	b2, err := json.Marshal(reports[1])
	r.ok(err)
	want := `{"kind":"race",` +
		`"first":{"op":"launch","name":"touch","does":"writes","stream":"producer","on":"device 0","number":2,"site":"3"},` +
		`"second":{"op":"copy to host","name":"download","does":"reads","stream":"consumer","on":"device 0","number":1,"site":"main.go:30"},` +
		`"memory":{"name":"x","size":64,"off":8,"bytes":16},` +
		`"fix":"record an event on producer behind the first, and have consumer wait for it before the second"}`
	if string(b2) != want {
		t.Errorf("got\n%s\nwant\n%s", b2, want)
	}
}

// failures is a test that fails.
type failures []string

func (*failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

func TestToFailsATest(t *testing.T) {
	var f failures
	check.To(&f)(&check.Report{Kind: check.UnrecordedWait, First: check.Command{Op: "wait"}})
	if len(f) != 1 || !strings.HasPrefix(f[0], "check: unrecorded-wait: ") {
		t.Errorf("a report makes a test fail with %q", f)
	}
}

// TestForgetsHandles: what comes and goes leaves nothing that grows.
func TestForgetsHandles(t *testing.T) {
	r := newRig(t)
	last := r.stream(0, "last")
	var x, y cudart.DevicePtr
	for i := range 20000 {
		s, e := r.stream(0, "s"), r.event(0)
		x, y = s.alloc(64), x
		s.record(e)
		last.wait(e)
		last.write(x, 64)
		if y != 0 {
			last.free(y)
		}
		r.ok(r.DestroyEvent(r.ctx[0], e))
		r.ok(r.DestroyStream(r.ctx[0], s.h))
		if i%100 == 0 {
			last.sync()
		}
	}
	last.free(x)
	r.want()
	if n := r.Checker.Remembered(); n > 8*1024+100 {
		t.Errorf("%d handles and ranges are remembered", n)
	}
}

// TestForgetsAContext: what was made in a context goes with it.
func TestForgetsAContext(t *testing.T) {
	r := newRig(t)
	r.on(0)
	before := r.Remembered()
	ctx, err := r.CreateContext(0)
	r.ok(err)
	r.ok(r.SetCurrent(ctx))
	_, err = r.CreateStream(ctx)
	r.ok(err)
	_, err = r.CreateEvent(ctx, false)
	r.ok(err)
	r.ok(r.SetCurrent(r.ctx[0]))
	r.ok(r.DestroyContext(ctx))
	if n := r.Remembered(); n != before {
		t.Errorf("%d handles are remembered, there were %d", n, before)
	}
}

// TestPinnedMemoryGoesWithItsContext: it is freed there, and forgotten in the end.
func TestPinnedMemoryGoesWithItsContext(t *testing.T) {
	r := newRig(t)
	q := r.stream(0, "q")
	x := q.alloc(64)
	for i := range 5000 {
		ctx, err := r.CreateContext(0)
		r.ok(err)
		r.ok(r.SetCurrent(ctx))
		p, err := r.AllocHost(ctx, 64)
		r.ok(err)
		r.ok(r.SetCurrent(r.ctx[0]))
		if i == 0 {
			q.do(func(l *cudart.List) { l.CopyDtoH(p, x, 64) }) // 2
			q.sync()                                            // 3
			r.line++
			r.ok(r.DestroyContext(ctx)) // 4
			r.line++
			r.HostAccess(p, 8, false) // 5
			continue
		}
		r.ok(r.DestroyContext(ctx))
	}
	r.want("use-after-free 4 5")
	if n := r.Remembered(); n > 2*1024+100 {
		t.Errorf("%d handles and ranges are remembered", n)
	}
}

// TestAContextThatWaitsHoldsNobodyUp: the end of a context waits for its work, which may
// wait for what another thread does.
func TestAContextThatWaitsHoldsNobodyUp(t *testing.T) {
	var c *check.Checker
	rt := &endsLate{Runtime: sim.New(sim.Config{})}
	c = check.New(rt, check.Options{})
	rt.do = func() {
		other := make(chan int)
		go func() { other <- c.Count() }()
		<-other
	}
	ctx, err := c.CreateContext(0)
	if err = errors.Join(err, c.DestroyContext(ctx), c.Close()); err != nil {
		t.Error(err)
	}
}

// endsLate is a runtime in which something else goes on while a context ends.
type endsLate struct {
	cudart.Runtime
	do func()
}

func (m *endsLate) DestroyContext(ctx cudart.Context) error {
	m.do()
	return m.Runtime.DestroyContext(ctx)
}

// meanwhile is a runtime in which something else goes on while the host waits.
type meanwhile struct {
	cudart.Runtime
	do func()
}

func (m *meanwhile) SynchronizeStream(ctx cudart.Context, s cudart.Stream) error {
	err := m.Runtime.SynchronizeStream(ctx, s)
	m.do()
	return err
}

func (m *meanwhile) SynchronizeContext(ctx cudart.Context) error {
	err := m.Runtime.SynchronizeContext(ctx)
	m.do()
	return err
}

// TestAWaitKnowsWhatItBeganWith: what a stream is given while the host waits for it is
// not known to be complete by that.
func TestAWaitKnowsWhatItBeganWith(t *testing.T) {
	for _, c := range []struct {
		name string
		wait func(r *rig, q queue)
	}{
		{"a stream", func(r *rig, q queue) { q.sync() }},
		{"a context", func(r *rig, q queue) { r.ok(r.SynchronizeContext(r.ctx[0])) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &meanwhile{Runtime: sim.New(sim.Config{}), do: func() {}}
			r := newRigOn(t, m)
			a, b := r.stream(0, "a"), r.stream(0, "b")
			x := a.alloc(64)
			a.sync()
			m.do = func() { a.write(x, 64) }
			c.wait(r, a)
			m.do = func() {}
			b.read(x, 64)
			b.sync()
			a.free(x)
			if len(r.got) != 1 {
				t.Errorf("reported %q, want the race", r.got)
			}
		})
	}
}

// TestManyThreads: any thread may call a checker, and reports come from the thread that
// issued what is wrong, which may use the runtime then.
func TestManyThreads(t *testing.T) {
	r := newRig(t)
	shared := r.stream(0, "shared").alloc(64)
	r.ok(r.SynchronizeContext(r.ctx[0]))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			check := func(err error) {
				if err != nil {
					t.Error(err)
				}
			}
			check(r.SetCurrent(r.ctx[0]))
			s, err := r.CreateStream(r.ctx[0])
			check(err)
			e, err := r.CreateEvent(r.ctx[0], false)
			check(err)
			l, err := cudart.NewList(0)
			check(err)
			defer l.Close()
			for range 200 {
				p, err := r.Alloc(r.ctx[0], r.pool[0], 64, s)
				check(err)
				l.Reset()
				l.Launch(r.touch[0], one, one, 0, arg(p, 64, cudart.InOut))
				l.Launch(r.touch[0], one, one, 0, arg(shared, 64, cudart.In))
				l.Free(p)
				l.Record(e)
				_, err = r.Submit(r.ctx[0], s, l)
				check(err)
				_, err = r.QueryEvent(e)
				check(err)
			}
			check(r.SynchronizeStream(r.ctx[0], s))
			check(r.SetCurrent(0))
		})
	}
	all.Wait()
	r.want()
}

// TestAReportMayUseTheRuntime: no lock is held where it is told.
func TestAReportMayUseTheRuntime(t *testing.T) {
	var c *check.Checker
	told := 0
	c = check.New(&idle{}, check.Options{Report: func(*check.Report) {
		told++
		if n := c.Count(); n != 1 {
			t.Errorf("%d reports so far", n)
		}
		_, _ = c.QueryEvent(0)
	}})
	ctx, _ := c.RetainPrimary(0)
	e, _ := c.CreateEvent(ctx, false)
	_, _ = c.QueryEvent(e)
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}
