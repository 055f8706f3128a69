package sim

import (
	"runtime"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

func TestI1_NothingRunsInsideSubmit(t *testing.T) {
	g := newHandRig(t, Config{})
	for i := range uint64(5) {
		g.say(g.stream, i)
	}
	g.logged()
	g.hand.all()
	g.logged(0, 1, 2, 3, 4)
}

func TestWaitHoldsUntilTheRecordIsReached(t *testing.T) {
	g := newHandRig(t, Config{})
	b := g.newStream()
	e := must(g.r.CreateEvent(g.ctx, false))
	g.say(g.stream, 1)
	g.submit(g.stream, func(l *cudart.List) { l.Record(e) })
	g.say(g.stream, 2)
	g.submit(b, func(l *cudart.List) { l.Wait(e) })
	g.say(b, 3)

	g.hand.only(g.of(b))
	g.logged()
	if done, err := g.r.QueryEvent(e); done || err != nil {
		t.Fatalf("the record counts as done (%v, %v)", done, err)
	}
	a := g.of(g.stream)
	a.step() // up to the record, and no further
	g.hand.waiting = g.hand.waiting[1:]
	g.hand.only(g.of(b))
	g.logged(1, 3)
	for a.step() {
	}
	g.logged(1, 3, 2)
}

func TestWaitCapturesTheRecordAtItsSubmission(t *testing.T) {
	for name, after := range map[string]func(g *rig, e cudart.Event){
		"recorded again on an idle stream": func(g *rig, e cudart.Event) {
			g.submit(g.newStream(), func(l *cudart.List) { l.Record(e) })
		},
		"destroyed": func(g *rig, e cudart.Event) { g.is(g.r.DestroyEvent(g.ctx, e), 0) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newHandRig(t, Config{})
			b := g.newStream()
			e := must(g.r.CreateEvent(g.ctx, false))
			g.say(g.stream, 1)
			g.submit(g.stream, func(l *cudart.List) { l.Record(e) })
			g.submit(b, func(l *cudart.List) { l.Wait(e) })
			g.say(b, 2)
			after(g, e)
			g.hand.only(g.of(b))
			g.logged()
			g.hand.all()
			g.logged(1, 2)
		})
	}
}

func TestWaitForAnEventRecordedTooLateWaitsForNothing(t *testing.T) {
	g := newHandRig(t, Config{})
	b := g.newStream()
	e := must(g.r.CreateEvent(g.ctx, false))
	g.say(g.stream, 1)
	g.submit(b, func(l *cudart.List) { l.Wait(e) })
	g.submit(g.stream, func(l *cudart.List) { l.Record(e) })
	g.say(b, 2)
	g.hand.only(g.of(b))
	g.logged(2)
}

func TestElapsedIsOfTheLatestRecord(t *testing.T) {
	g := newHandRig(t, Config{})
	e, f := must(g.r.CreateEvent(g.ctx, true)), must(g.r.CreateEvent(g.ctx, true))
	plain := must(g.r.CreateEvent(g.ctx, false))
	_, err := g.r.Elapsed(e, f)
	g.is(err, cudart.ErrInvalidHandle)
	g.submit(g.stream, func(l *cudart.List) { l.Record(e); l.Record(f); l.Record(plain) })
	_, err = g.r.Elapsed(e, f)
	g.is(err, cudart.ErrNotReady)
	g.hand.all()
	if d := must(g.r.Elapsed(e, f)); d < 0 {
		t.Fatalf("%v between two records", d)
	}
	_, err = g.r.Elapsed(e, plain)
	g.is(err, cudart.ErrInvalidHandle)
	g.submit(g.stream, func(l *cudart.List) { l.Record(e) })
	_, err = g.r.Elapsed(e, f)
	g.is(err, cudart.ErrNotReady)
	g.hand.all()
	if d := must(g.r.Elapsed(e, f)); d > 0 {
		t.Fatalf("the second record of the start is not seen: %v", d)
	}
}

func TestSynchronizeContextWaitsForADestroyedStream(t *testing.T) {
	g := newRig(t, Config{})
	s := g.newStream()
	g.submit(s, func(l *cudart.List) { g.launch(l, "gate") })
	g.say(s, 7)
	g.is(g.r.DestroyStream(g.ctx, s), 0)
	if i, err := g.try(s, func(l *cudart.List) { g.launch(l, "gate") }); i != 0 {
		t.Fatalf("command %d refused", i)
	} else {
		g.is(err, cudart.ErrInvalidHandle)
	}
	close(g.gate)
	g.is(g.r.SynchronizeContext(g.ctx), 0)
	g.logged(7)
}

func TestADestroyedStreamIsForgottenWhenItIsDone(t *testing.T) {
	g := newHandRig(t, Config{})
	busy, idle := g.newStream(), g.newStream()
	g.say(busy, 1)
	g.is(g.r.DestroyStream(g.ctx, busy), 0)
	g.is(g.r.DestroyStream(g.ctx, idle), 0)
	if n := len(g.r.streams); n != 2 {
		t.Fatalf("%d streams, want the busy one and the rig's", n)
	}
	g.hand.all()
	g.logged(1)
	if n := len(g.r.streams); n != 1 {
		t.Fatalf("%d streams are left", n)
	}
}

func TestSubmitSkipsEffectsBehindARefusal(t *testing.T) {
	g := newHandRig(t, Config{})
	e := must(g.r.CreateEvent(g.ctx, false))
	p := g.alloc(512)
	i, err := g.try(g.stream, func(l *cudart.List) {
		g.launch(l, "log", cudart.Arg{Slot: 1})
		l.Fill(3, 0, 1, 1)
		g.launch(l, "log", cudart.Arg{Slot: 2})
		l.Free(p)
		l.Wait(12345)
		l.Record(e)
	})
	if i != 1 {
		t.Fatalf("command %d refused, not 1", i)
	}
	g.is(err, cudart.ErrInvalidValue)
	if must(g.r.QueryEvent(e)) {
		t.Fatal("the record behind the refusal did not happen")
	}
	g.hand.all()
	g.logged(1)
	_, err = g.try(g.stream, func(l *cudart.List) { l.Free(p) })
	g.is(err, cudart.ErrInvalidValue) // the free did happen
}

// A chain of streams, each waiting for the one before, on goroutines.
func TestChainOfStreams(t *testing.T) {
	g := newRig(t, Config{})
	streams := []cudart.Stream{g.stream, g.newStream(), g.newStream(), g.newStream()}
	e := must(g.r.CreateEvent(g.ctx, false))
	var want []uint64
	for i := range uint64(4000) {
		g.submit(streams[i%4], func(l *cudart.List) {
			l.Wait(e)
			g.launch(l, "log", cudart.Arg{Slot: i}) // appends to a plain slice: the race detector checks the order
			l.Record(e)
		})
		want = append(want, i)
	}
	g.is(g.r.SynchronizeContext(g.ctx), 0)
	g.logged(want...)
}

// A thread that only polls gives the processor to the stream that it polls, even
// if there is only one.
func TestPollingDoesNotStarveTheStream(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	g := newRig(t, Config{})
	e := must(g.r.CreateEvent(g.ctx, false))
	g.submit(g.stream, func(l *cudart.List) { g.launch(l, "log", cudart.Arg{}); l.Record(e) })
	polls := 0
	for !must(g.r.QueryEvent(e)) {
		polls++
	}
	if polls > 8*patience {
		t.Errorf("%d queries in vain", polls)
	}
}

func TestAGreatBatchIsNotKept(t *testing.T) {
	b := batch{words: make([]uint64, keepWords+1), items: make([]item, 1)}
	if b.reset(); cap(b.words) != 0 || cap(b.items) != 0 {
		t.Errorf("%d words kept", cap(b.words))
	}
	b = batch{words: make([]uint64, 100), items: []item{{event: &event{}}}}
	if b.reset(); cap(b.words) != 100 || b.items[:1][0].event != nil {
		t.Error("a small batch is not kept, or keeps what it pointed at")
	}
}
