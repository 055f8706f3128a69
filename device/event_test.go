package device

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

// Two streams hand over to each other 10,000 times, and three in a ring: the number
// of events stays what it was after the first few.
func TestEventPoolDoesNotGrow(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
	}{{"ping-pong", 2}, {"ring of three", 3}, {"ring over two devices", 4}} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, 0)
			ss := make([]*Stream, c.n)
			for i := range ss {
				d := r.devs[0]
				if c.n == 4 {
					d = r.devs[i%2]
				}
				ss[i] = r.stream(d, "s")
			}
			hops := 10_000
			if c.n > 2 || testing.Short() || raceEnabled {
				hops = 1000
			}
			mem := map[*Stream]*words{}
			for _, s := range ss {
				mem[s] = wordsOf(r.alloc(s, 512))
			}
			var p Point
			var last [16]Point // the CPU is at most this far ahead
			for i := range hops {
				s := ss[i%c.n]
				r.until("a hop is done", func() bool { done, err := last[i%len(last)].Done(r.cur); r.ok(err); return done })
				r.on(s.d)
				r.ok(s.WaitFor(p, "hop"))
				r.fill(s, mem[s], uint32(i))
				p = r.flush(s)
				last[i%len(last)] = p
			}
			events := r.devs[0].Events() + r.devs[1].Events()
			if most := c.n * (2*reapAt + 1); events > most {
				t.Errorf("%d hops took %d events, at most %d were expected", hops, events, most)
			}
			r.sync(ss...)
		})
	}
}

// I1: a mark is not taken again while its point is not complete, nor while a wait
// for it is on its way; and then it is.
func TestI1_AnEventIsNotReusedWhileSomebodyMayWaitForIt(t *testing.T) {
	r := newRig(t, 0)
	a, b, g := r.stream(r.devs[0], "a"), r.stream(r.devs[0], "b"), r.gate()
	r.on(r.devs[0])
	mem := wordsOf(r.alloc(a, 512))
	r.sync(a)
	g.hold(a)
	p := r.flush(a)
	a.mu.Lock()
	mark := a.marks[0]
	a.mu.Unlock()

	recorded := func(times int) (again bool) {
		for range times {
			r.fill(a, mem, 1)
			r.flush(a)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, m := range a.marks {
			again = again || m == mark && m.n != p.n
		}
		return again
	}
	if recorded(3*reapAt) || mark.n != p.n {
		t.Fatal("recorded again while its point is not complete")
	}
	r.ok(b.WaitFor(p, "")) // issued, and not submitted
	if mark.pins.Load() != 1 {
		t.Fatalf("%d pins for one wait on its way", mark.pins.Load())
	}
	g.open()
	r.sync(a)
	if recorded(3*reapAt) || mark.n != p.n || spare(a, mark) {
		t.Fatal("recorded again, or ready for it, while a wait for it is on its way")
	}
	_, err := b.Flush(false)
	r.ok(err)
	r.ok(a.Poll())
	if !spare(a, mark) {
		t.Error("not ready to be recorded again when the wait has been submitted")
	}
}

// spare reports whether a mark may be recorded at any moment.
func spare(s *Stream, m *mark) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.spare, m)
}

// The events and blocks of streams that ended with work in flight come back.
func TestRetiredStreamsGiveBack(t *testing.T) {
	for _, blocks := range []bool{true, false} { // with blocks, who looks for memory looks at their streams
		t.Run(fmt.Sprint("with blocks: ", blocks), func(t *testing.T) { retiredGiveBack(t, blocks) })
	}
}

func retiredGiveBack(t *testing.T, blocks bool) {
	r := newRig(t, 0)
	const streams, atOnce = 400, 8
	common := r.stream(r.devs[0], "common")
	mem := wordsOf(r.alloc(common, 4096))
	for i := range streams {
		s := r.stream(r.devs[0], "short")
		if blocks {
			b := r.alloc(s, 4096)
			r.fill(s, wordsOf(b), uint32(i))
			b.Release(s.Next())
		} else {
			r.fill(s, mem, uint32(i))
		}
		r.retire(s)
		if i%atOnce == 0 {
			r.ok(r.rt.SynchronizeContext(r.cur.ctx))
		}
		if _, err := s.Flush(true); s.Pending() != 0 || err != nil {
			t.Fatalf("flush of a retired stream: %v", err)
		}
	}
	if n := r.devs[0].Events(); n > 4*atOnce {
		t.Errorf("%d streams left %d events", streams, n)
	}
	r.ok(r.rt.SynchronizeContext(r.cur.ctx))
	r.ok(r.devs[0].PollMemory(r.cur))
	if m := r.devs[0].Memory(); m.Held != 4096 || m.Reserved > 4*atOnce*4096 {
		t.Errorf("after all is done: %+v", m)
	}
}

// The points of a retired stream stay good, also where its last event could not be
// had.
func TestRetiredStreamsPointsStayGood(t *testing.T) {
	for name, noEvent := range map[string]bool{"with a last event": false, "without": true} {
		t.Run(name, func(t *testing.T) { retiredStreamsPointsStayGood(t, noEvent) })
	}
}

func retiredStreamsPointsStayGood(t *testing.T, noEvent bool) {
	r := newRig(t, 0)
	a, b := r.stream(r.devs[0], "a"), r.stream(r.devs[0], "b")
	r.on(r.devs[0])
	mem := wordsOf(r.alloc(a, 512))
	r.sync(b)
	r.fill(a, mem, 3)
	p := a.Next()
	r.rt.noEvent = noEvent
	for i, s := range r.streams {
		if s == a {
			r.streams = append(r.streams[:i], r.streams[i+1:]...)
			break
		}
	}
	r.rt.take()
	if err := a.Retire(); (err != nil) != noEvent {
		t.Errorf("retire, events refused %v: %v", noEvent, err)
	}
	if n := r.rt.take(); (n.synchronised == 1) != noEvent {
		t.Errorf("retire, events refused %v: synchronised %d times", noEvent, n.synchronised)
	}
	r.rt.noEvent = false
	r.ok(b.WaitFor(p, ""))
	r.until("done", func() bool { done, err := p.Done(r.cur); r.ok(err); return done })
	if err := a.Share(); err == nil {
		t.Error("a retired stream can be shared")
	}
	if err := a.Launch(1, fill32, Linear(1), mem.arg(cudart.Out), U32(1), U32(1)); err == nil {
		t.Error("a retired stream takes a launch")
	}
}

// A shared stream ends with its last owner.
func TestShare(t *testing.T) {
	r := newRig(t, 0)
	s := r.stream(r.devs[0], "shared")
	mem := wordsOf(r.alloc(s, 512))
	r.ok(s.Share())
	r.ok(s.Retire())
	r.fill(s, mem, 1)
	r.sync(s)
}

// Where no event can be had, a wait is made on the host instead: the order holds.
func TestAWaitWithoutAnEventIsMadeOnTheHost(t *testing.T) {
	r := newRig(t, 0)
	a, b := r.stream(r.devs[0], "a"), r.stream(r.devs[1], "b")
	mem := wordsOf(r.alloc(a, 512))
	r.fill(a, mem, 3)
	_, err := a.Flush(false)
	r.ok(err)
	r.rt.noEvent = true
	r.rt.take()
	r.on(b.d)
	r.ok(b.WaitFor(a.Given(), ""))
	if n := r.rt.take(); n.synchronised != 1 || !a.Given().Known() || b.Pending() != 0 {
		t.Errorf("synchronised %d times, known %v, %d commands pending", n.synchronised, a.Given().Known(), b.Pending())
	}
}
