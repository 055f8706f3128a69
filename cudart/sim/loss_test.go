package sim

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gpuactor/gpuactor/cudart"
)

func TestFaultIsSticky(t *testing.T) {
	const panics, exits, touches = 1, 0, 2
	for name, c := range map[string]struct {
		how  uint64
		code cudart.Code
		text string
	}{
		"panic":           {panics, cudart.ErrLaunchFailed, "kernel die panicked: as told (at "},
		"Goexit":          {exits, cudart.ErrLaunchFailed, "runtime.Goexit"},
		"illegal address": {touches, cudart.ErrIllegalAddress, "not inside live memory"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Config{})
			b, e := g.newStream(), must(g.r.CreateEvent(g.ctx, false))
			gone := g.alloc(512)
			g.submit(g.stream, func(l *cudart.List) {
				l.Free(gone)
				if c.how == touches {
					g.touch(l, gone) // known when it is submitted, gone when it runs
				} else {
					g.launch(l, "die", cudart.Arg{Slot: c.how})
				}
				g.launch(l, "log", cudart.Arg{Slot: 1})
				l.Record(e)
			})
			err := g.r.SynchronizeStream(g.ctx, g.stream)
			g.is(err, c.code)
			if !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "rig_test.go:") {
				t.Errorf("%q does not say %q", err, c.text)
			}
			s := g.of(g.stream)
			g.within("dropping what was behind the fault", func() {
				for s.progress.done.Load() < s.submitted {
					runtime.Gosched()
				}
			})
			g.logged()
			_, err = g.try(b, func(l *cudart.List) { l.Wait(e) })
			g.is(err, c.code)
			_, err = g.r.QueryEvent(e)
			g.is(err, c.code)
			_, err = g.r.Alloc(g.ctx, g.pool, 1, b)
			g.is(err, c.code)
			_, err = g.r.CreateContext(1)
			g.is(err, c.code)
			g.is(g.r.DestroyStream(g.ctx, b), c.code)
			if g.of(b) != nil {
				t.Error("destroying a stream on a lost machine left it there")
			}
			g.is(g.r.DestroyStream(g.ctx, b), c.code) // nothing else is heard, as ever
		})
	}
}

// I6: whoever waits for something that will not happen is let go.
func TestI6_ALossReleasesHeldStreams(t *testing.T) {
	g := newHandRig(t, Config{})
	b := g.newStream()
	e := must(g.r.CreateEvent(g.ctx, false))
	g.say(g.stream, 1)
	g.submit(g.stream, func(l *cudart.List) { l.Record(e) })
	g.submit(b, func(l *cudart.List) { l.Wait(e) })
	g.say(b, 2)
	held := g.of(b)
	g.hand.only(held)
	g.hand.waiting = nil // nothing else will run
	g.r.lose(&loss{code: cudart.ErrLaunchFailed})
	g.hand.only(held)
	if done := held.progress.done.Load(); done != held.submitted {
		t.Errorf("%d of %d commands passed", done, held.submitted)
	}
	g.logged()
}

func TestI6_ALossReleasesHostThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, Config{})
		g.submit(g.stream, func(l *cudart.List) { g.launch(l, "gate") })
		released := make(chan struct{})
		go func() { g.of(g.stream).await(); close(released) }()
		synctest.Wait()
		select {
		case <-released:
			t.Fatal("did not wait")
		default:
		}
		g.r.lose(&loss{code: cudart.ErrLaunchFailed})
		<-released
		close(g.gate)
	})
}

// I4: a stream that comes to a wait just as the machine is lost is not held.
func TestI4_NobodyIsHeldBehindALoss(t *testing.T) {
	g := newHandRig(t, Config{})
	b := g.newStream()
	g.r.lose(&loss{code: cudart.ErrLaunchFailed})
	if g.of(g.stream).progress.hold(g.of(b), 1) {
		t.Fatal("held, and nobody is left to wake it")
	}
}

func TestCloseWaitsForWhatRunsAndDropsWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, Config{})
		p := g.alloc(1 << 20)
		g.submit(g.stream, func(l *cudart.List) {
			g.launch(l, "gate")
			l.Fill(p, 1, 1, 1<<20)
			g.launch(l, "log", cudart.Arg{Slot: 1})
		})
		synctest.Wait() // until the kernel is at its gate
		closed := make(chan error, 1)
		go func() { closed <- g.r.Close() }()
		synctest.Wait()
		select {
		case <-closed:
			t.Fatal("closed while a kernel was running")
		default:
		}
		close(g.gate)
		g.is(<-closed, 0)
		g.logged()
		_, err := g.try(g.stream, func(l *cudart.List) { g.launch(l, "gate") })
		g.is(err, cudart.ErrDeinitialized)
		g.is(g.r.Close(), 0)
	})
}

// A kernel that waits for what never comes ends with the machine, whatever the clock.
func TestCloseEndsAKernelThatWaits(t *testing.T) {
	for name, clock := range map[string]Clock{"real": nil, "virtual": Virtual(), "chaos": Chaos(1)} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Config{Clock: clock})
			runs := make(chan struct{}, 1)
			m := must(g.r.LoadModule(g.ctx, cudart.Image{Name: "waits", PTX: testPTX, Go: map[string]cudart.GoKernel{
				"log": func(k *cudart.KernelCall) {
					for {
						k.Yield()
						select {
						case runs <- struct{}{}:
						default:
						}
					}
				},
			}}))
			f, _, err := g.r.Function(g.ctx, m, "log")
			g.is(err, 0)
			g.submit(g.stream, func(l *cudart.List) { l.Launch(f, one, one, 0, cudart.Arg{}) })
			s, over := g.of(g.stream), make(chan struct{})
			go func() {
				defer close(over)
				g.r.exec.await(s, s.submitted)
			}()
			<-runs
			g.within("Close", func() { g.is(g.r.Close(), 0) })
			<-over
		})
	}
}
