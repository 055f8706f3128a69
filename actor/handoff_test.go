package actor

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	"github.com/gpuactor/gpuactor/device"
)

// breaking is a runtime that loses commands of one kind while it is told to.
type breaking struct {
	cudart.Runtime
	loses atomic.Bool
	lost  atomic.Int32
}

func losing(t testing.TB, op cudart.Op) *breaking {
	b := new(breaking)
	b.Runtime = cudarttest.Without(openRuntime(t), func(c cudart.Command) bool {
		lose := b.loses.Load() && c.Op == op
		if lose {
			b.lost.Add(1)
		}
		return lose
	})
	return b
}

// A writer's kernel is held by a gate, and its buffer handed to a reader. The words
// were 1 and the kernel makes them 2. What the reader finds is returned. Without an
// order the reader reads before the gate is opened, and the gate is opened then; with
// one it can only read afterwards.
func readAfterWrite(t *testing.T, rt *breaking, ordered bool) (word uint32) {
	sys := newSystemOn(t, rt)
	items := NewChan[Buf](1)
	sent, read := make(chan *gate, 1), make(chan struct{})
	reader := start(t, sys, "reader", sys.Device(0), func(s *Stream) error {
		defer close(read)
		h, err := buffer.NewHost[uint32](s, words)
		if err != nil {
			return err
		}
		b, err := items.Recv(s)
		if err != nil {
			return err
		}
		g := <-sent
		if err := errors.Join(fetch(s, h, b), s.Submit()); err != nil {
			return err
		}
		if ordered {
			g.open()
		}
		got, err := h.Slice(s)
		g.open()
		if err == nil {
			word = got[0]
		}
		return err
	})
	until(t, "the reader is waiting", func() bool { return items.to.Load() != nil })
	writer := start(t, sys, "writer", sys.Device(0), func(s *Stream) error {
		g, err := newGate(s)
		if err != nil {
			return err
		}
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		if err := errors.Join(s.Synchronize(), g.hold(s), fill(s, b, 2)); err != nil {
			return err
		}
		rt.loses.Store(!ordered)
		err = items.Send(s, b)
		rt.loses.Store(false)
		sent <- g
		<-read // the gate is this actor's memory
		return err
	})
	finish(t, writer, reader)
	if lost := rt.lost.Load() > 0; lost == ordered {
		t.Fatalf("%d commands were lost", rt.lost.Load())
	}
	return word
}

// The wait for an event that has no record waits for nothing: the receiver has to
// learn of the event when its record has been submitted, and not before.
func TestO4_TheRecordIsSubmittedFirst(t *testing.T) {
	if got := readAfterWrite(t, losing(t, cudart.OpRecord), true); got != 2 {
		t.Errorf("the reader found %d, want the writer's 2", got)
	}
	if onDriver() {
		return // what comes of a race there is not for a test to say
	}
	if got := readAfterWrite(t, losing(t, cudart.OpRecord), false); got != 1 {
		t.Errorf("without the record the reader found %d: the test shows nothing", got)
	}
}

// A reader is held by a gate, and the buffer goes back to its writer, which writes
// again. What the reader finds is returned.
func writeAfterRead(t *testing.T, rt *breaking, ordered bool) (word uint32) {
	sys := newSystemOn(t, rt)
	there, back := NewChan[Buf](1), NewChan[Buf](1)
	gates, written := make(chan *gate, 1), make(chan struct{})
	writer := start(t, sys, "writer", sys.Device(0), func(s *Stream) error {
		defer close(written)
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		if err := errors.Join(s.Synchronize(), there.Send(s, b)); err != nil {
			return err
		}
		if b, err = back.Recv(s); err != nil {
			return err
		}
		g := <-gates
		rt.loses.Store(!ordered)
		err = errors.Join(fill(s, b, 2), s.Submit())
		rt.loses.Store(false)
		if ordered {
			g.open()
		}
		err = errors.Join(err, s.Synchronize())
		g.open()
		return err
	})
	reader := start(t, sys, "reader", sys.Device(0), func(s *Stream) error {
		g, err := newGate(s)
		if err != nil {
			return err
		}
		h, err := buffer.NewHost[uint32](s, words)
		if err != nil {
			return err
		}
		b, err := there.Recv(s)
		if err != nil {
			return err
		}
		if err := errors.Join(g.hold(s), fetch(s, h, b), back.Send(s, b)); err != nil {
			return err
		}
		gates <- g
		<-written
		got, err := h.Slice(s)
		if err == nil {
			word = got[0]
		}
		return err
	})
	finish(t, writer, reader)
	if lost := rt.lost.Load() > 0; lost == ordered {
		t.Fatalf("%d commands were lost", rt.lost.Load())
	}
	return word
}

func TestO2_TheNextWriterWaitsForTheReader(t *testing.T) {
	if got := writeAfterRead(t, losing(t, cudart.OpWait), true); got != 1 {
		t.Errorf("the reader found %d, want 1, which was there when it was given the buffer", got)
	}
	if onDriver() {
		return
	}
	if got := writeAfterRead(t, losing(t, cudart.OpWait), false); got != 2 {
		t.Errorf("without the wait the reader found %d: the test shows nothing", got)
	}
}

// asked is what a runtime was asked.
type asked struct{ calls, records, waits int }

func count(c *cudarttest.Counter) asked {
	return asked{calls: c.Calls(), records: c.Commands(cudart.OpRecord), waits: c.Commands(cudart.OpWait)}
}

func (a asked) since(b asked) asked {
	return asked{calls: a.calls - b.calls, records: a.records - b.records, waits: a.waits - b.waits}
}

func TestO5_ToOneself(t *testing.T) {
	rt := cudarttest.Counting(openRuntime(t))
	sys := newSystemOn(t, rt)
	finish(t, start(t, sys, "self", sys.Device(0), func(s *Stream) error {
		items := NewChan[Buf](1)
		b, err := filled(s, 7)
		if err != nil {
			return err
		}
		if err := s.Submit(); err != nil {
			return err
		}
		before := count(rt)
		for range 100 {
			if err := items.Send(s, b); err != nil {
				return err
			}
			if b, err = items.Recv(s); err != nil {
				return err
			}
		}
		if got := count(rt).since(before); got != (asked{}) {
			t.Errorf("100 hand-offs to oneself: %+v, want no driver call", got)
		}
		return holds(s, b, 7)
	}))
}

func TestO5_BetweenActorsThatShareAStream(t *testing.T) {
	rt := cudarttest.Counting(openRuntime(t))
	sys := newSystemOn(t, rt)
	there, back := NewChan[Buf](1), NewChan[Buf](1)
	echo := start(t, sys, "echo", On(sharedThread(t, sys)), func(s *Stream) error {
		for b, err := range there.All(s) {
			if err := errors.Join(err, add(s, b, 1), back.Send(s, b)); err != nil {
				return err
			}
		}
		return nil
	})
	asker := start(t, sys, "asker", Sharing(echo), func(s *Stream) error {
		defer there.Close()
		b, err := filled(s, 0)
		if err != nil {
			return err
		}
		before := count(rt)
		for range 100 {
			if err := there.Send(s, b); err != nil {
				return err
			}
			if b, err = back.Recv(s); err != nil {
				return err
			}
		}
		got := count(rt).since(before)
		if got.records != 0 || got.waits != 0 {
			t.Errorf("200 hand-offs on one stream: %+v, want no record and no wait", got)
		}
		return holds(s, b, 100)
	})
	finish(t, echo, asker)
}

// The same between two streams needs both: the test above would see them.
func TestO5_BetweenStreamsThereIsAnEvent(t *testing.T) {
	rt := cudarttest.Counting(openRuntime(t))
	sys := newSystemOn(t, rt)
	th := sharedThread(t, sys)
	items, received := NewChan[Buf](1), NewChan[int](1)
	before := count(rt)
	to := start(t, sys, "to", On(th), func(s *Stream) error {
		b, err := items.Recv(s)
		if err := errors.Join(err, received.Send(s, 1)); err != nil {
			return err
		}
		return holds(s, b, 3)
	})
	from := start(t, sys, "from", On(th), func(s *Stream) error {
		g, err := newGate(s)
		if err != nil {
			return err
		}
		defer g.open()
		b, err := filled(s, 3)
		if err != nil {
			return err
		}
		if err := errors.Join(g.hold(s), items.Send(s, b)); err != nil {
			return err
		}
		// The gate stays closed until then: what is known complete needs no wait.
		_, err = received.Recv(s)
		return err
	})
	finish(t, to, from)
	if got := count(rt).since(before); got.records == 0 || got.waits == 0 {
		t.Errorf("a hand-off between two streams: %+v, want a record and a wait", got)
	}
}

// A stream that is busy for as long as it likes keeps nobody waiting who has nothing
// to do with it.
func TestO7_AnUnrelatedStreamIsBusy(t *testing.T) {
	sys := newSystem(t)
	closed, done := make(chan struct{}), make(chan struct{})
	busy := start(t, sys, "busy", sys.Device(0), func(s *Stream) error {
		g, err := newGate(s)
		if err != nil {
			return err
		}
		b, err := filled(s, 5)
		if err != nil {
			return err
		}
		if err := g.hold(s); err != nil {
			return err
		}
		p, err := s.cuda.Flush(true)
		if err != nil {
			return err
		}
		close(closed)
		<-done
		if over, err := p.Done(s.Device()); over || err != nil {
			return fmt.Errorf("the gate was opened before its time: somebody waited for it (%v)", err)
		}
		g.open()
		return holds(s, b, 5)
	})
	await(t, "the gate is closed", closed)
	for _, d := range sys.Devices() {
		pipeline(t, sys, d, 50)
	}
	close(done)
	finish(t, busy)
}

// pipeline sends n buffers through two actors of a device, and checks them.
func pipeline(t *testing.T, sys *System, d *device.Device, n int) {
	items := NewChan[Buf](4)
	from := start(t, sys, "from", d, func(s *Stream) error {
		defer items.Close()
		for i := range n {
			b, err := filled(s, uint32(i))
			if err != nil {
				return err
			}
			if err := items.Send(s, b); err != nil {
				return err
			}
		}
		return nil
	})
	to := start(t, sys, "to", d, func(s *Stream) error {
		next := uint32(0)
		for b, err := range items.All(s) {
			if err := errors.Join(err, add(s, b, 1)); err != nil {
				return err
			}
			if next++; next%10 != 0 {
				if err := b.Release(s); err != nil {
					return err
				}
			} else if err := holds(s, b, next); err != nil {
				return err
			}
		}
		if next != uint32(n) {
			return fmt.Errorf("%d items arrived, want %d", next, n)
		}
		return nil
	})
	finish(t, from, to)
}

// A buffer that goes round many times is ordered at every hop, on events that are
// used again and again.
func TestO6_ALongChain(t *testing.T) {
	const laps = 300
	sys := newSystem(t)
	var hops [3]*Chan[Buf]
	for i := range hops {
		hops[i] = NewChan[Buf](1)
	}
	hop := func(i int) *Ref {
		return start(t, sys, fmt.Sprint("hop ", i), sys.Device(0), func(s *Stream) error {
			defer hops[(i+1)%3].Close()
			for b, err := range hops[i].All(s) {
				if err := errors.Join(err, add(s, b, 1), hops[(i+1)%3].Send(s, b)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	refs := []*Ref{hop(1), hop(2)}
	refs = append(refs, start(t, sys, "hop 0", sys.Device(0), func(s *Stream) error {
		defer hops[1].Close()
		b, err := filled(s, 0)
		if err != nil {
			return err
		}
		for range laps {
			if err := errors.Join(add(s, b, 1), hops[1].Send(s, b)); err != nil {
				return err
			}
			if b, err = hops[0].Recv(s); err != nil {
				return err
			}
			if err := s.Synchronize(); err != nil { // what is on its way needs an event
				return err
			}
		}
		if n := sys.Counts().Events; n > laps/2 {
			t.Errorf("%d events after %d hops", n, 3*laps)
		}
		return holds(s, b, 3*laps)
	}))
	finish(t, refs...)
}
