package sim

import (
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

func TestFaultIsSticky(t *testing.T) {
	const panics, exits, touches = 1, 0, 2
	for name, c := range map[string]struct {
		how  uint64
		code cudart.Code
		text string
	}{
		"panic":           {panics, cudart.ErrLaunchFailed, "kernel die panicked: as told"},
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
			if !strings.Contains(err.Error(), c.text) {
				t.Errorf("%q does not say %q", err, c.text)
			}
			g.logged() // what was behind the fault did not run
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
		})
	}
}

// I6: whoever waits for something that will not happen is let go.
func TestI6_ALossReleasesWaiters(t *testing.T) {
	g := newRig(t, Config{})
	held, dying := g.newStream(), g.newStream()
	e := must(g.r.CreateEvent(g.ctx, false))
	g.submit(g.stream, func(l *cudart.List) { g.launch(l, "gate"); l.Record(e) })
	g.submit(held, func(l *cudart.List) { l.Wait(e); g.launch(l, "log", cudart.Arg{Slot: 1}) })
	s := g.of(held)
	g.submit(dying, func(l *cudart.List) { g.launch(l, "die", cudart.Arg{Slot: 1}) })
	g.within("a host wait for a held stream", func() { s.await() })
	g.is(g.r.SynchronizeStream(g.ctx, held), cudart.ErrLaunchFailed)
	close(g.gate) // a kernel that runs is not stopped by the loss of the machine
	g.within("the held stream", func() {
		for s.progress.done.Load() < s.submitted {
		}
	})
	g.logged()
}

func TestCloseDropsWhatIsQueued(t *testing.T) {
	g := newRig(t, Config{})
	p := g.alloc(1 << 20)
	g.submit(g.stream, func(l *cudart.List) {
		g.launch(l, "gate")
		l.Fill(p, 1, 1, 1<<20)
		g.launch(l, "log", cudart.Arg{Slot: 1})
	})
	closed := make(chan error)
	go func() { closed <- g.r.Close() }()
	for g.r.lost.Load() == nil {
	}
	close(g.gate)
	g.is(<-closed, 0)
	g.logged()
	_, err := g.try(g.stream, func(l *cudart.List) { g.launch(l, "gate") })
	g.is(err, cudart.ErrDeinitialized)
	g.is(g.r.Close(), 0)
}
