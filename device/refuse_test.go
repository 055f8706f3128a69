package device

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

// list issues one submission on s: a wait, then four effects with a free among
// them. It gives the memory that the effects write, in their order.
type refusal struct {
	s     *Stream
	mem   [4]*words
	names [4]string
	freed *Block
}

func (r *rig) refusal() *refusal {
	r.Helper()
	s, other, g := r.stream(r.devs[0], "s"), r.stream(r.devs[0], "other"), r.gate()
	f := &refusal{s: s, names: [4]string{"fill32", "copy", "fill", "add32"}, freed: r.alloc(s, 4096)}
	for i := range f.mem {
		f.mem[i] = wordsOf(r.alloc(s, 4096))
		r.fill(s, f.mem[i], uint32(100+i))
	}
	r.sync(s)
	// Busy, so that all of it is collected.
	blocker := r.gate()
	blocker.hold(s)
	g.hold(other)
	r.ok(s.WaitFor(other.Given(), "for the test"))
	r.fill(s, f.mem[0], 1)
	r.ok(s.Copy(f.mem[1].ptr, f.mem[0].ptr, 4096, f.mem[1], 1))
	r.ok(s.free(f.freed.ptr))
	r.devs[0].mem.forget(f.freed)
	r.ok(s.Fill(f.mem[2].ptr, 3, 4, 1024, f.mem[2], 1))
	r.ok(s.Launch(1, add32, Linear(1024), f.mem[3].arg(cudart.InOut), U32(4), U32(1024)))
	if s.Pending() != 6 {
		r.Fatalf("%d commands are pending, want 6", s.Pending())
	}
	blocker.open()
	g.open()
	return f
}

// free frees memory in the order of a stream, as a test needs it.
func (s *Stream) free(p cudart.DevicePtr) error {
	if s.list.Free(p) {
		return nil
	}
	err := s.room()
	s.list.Free(p)
	return err
}

// forget takes a block out of the books that a test frees by itself.
func (m *memory) forget(b *Block) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, b)
	m.reserved -= b.bytes
	m.charged -= b.bytes
	m.sem.Release(int64(b.bytes))
}

// TestF2b_WhatIsBehindARefusedCommand: for every command of a list, in every
// position: the effects behind it do not happen and poison what they would have
// written, the bookkeeping behind it does, and the error names the command.
func TestF2b_WhatIsBehindARefusedCommand(t *testing.T) {
	want := [4]uint32{1, 1, 3, 103 + 4}
	for at, c := range []struct {
		op     string
		intact int // effects before it
	}{
		{"wait", 0}, {"fill32", 0}, {"copy", 1}, {"free", 2}, {"fill", 2}, {"add32", 3}, {"record", 4},
	} {
		t.Run(fmt.Sprintf("%d %s", at, c.op), func(t *testing.T) {
			r := newRig(t, 0)
			f := r.refusal()
			i := 0
			r.rt.refuses(func(cudart.Command) bool { i++; return i == at+1 })
			r.rt.take()
			p, err := f.s.Flush(true)
			r.rt.refuses(nil)
			n := r.rt.take()

			var refused *SubmitError
			if !errors.As(err, &refused) || refused.Op != c.op || refused.Stream != "s" || !errors.Is(err, cudart.ErrInvalidValue) {
				t.Fatalf("the error is %v", err)
			}
			for k, m := range f.mem {
				if k < c.intact && m.poison != nil || k >= c.intact && m.poison != err {
					t.Errorf("effect %d (%s) is poisoned by %v", k, f.names[k], m.poison)
				}
			}
			if c.op != "free" && n.ops[cudart.OpFree] != 1 || n.ops[cudart.OpWait] < 1 && c.op != "wait" {
				t.Errorf("%d frees and %d waits were submitted", n.ops[cudart.OpFree], n.ops[cudart.OpWait])
			}
			r.until("the point is done", func() bool { done, err := p.Done(r.cur); r.ok(err); return done })
			for k, m := range f.mem {
				v := uint32(100 + k)
				if k < c.intact {
					v = want[k]
				}
				if got := r.read(f.s, m); got[0] != v || got[1023] != v {
					t.Errorf("effect %d (%s): memory holds %d, want %d", k, f.names[k], got[0], v)
				}
			}
			if c.op == "free" {
				r.ok(f.s.free(f.freed.ptr)) // the test's runtime has kept it from its end
			}
		})
	}
}

// What needs a wait that was refused does not run without it, however often.
func TestF2b_NothingRunsWithoutItsWait(t *testing.T) {
	r := newRig(t, 0)
	a, b, g := r.stream(r.devs[0], "a"), r.stream(r.devs[0], "b"), r.gate()
	src, dst := wordsOf(r.alloc(a, 4096)), wordsOf(r.alloc(b, 4096))
	r.sync(a, b)
	g.hold(a)
	r.fill(a, src, 7)
	p := r.flush(a)
	r.ok(b.WaitFor(p, ""))
	refuseWaits := func(c cudart.Command) bool { return c.Op == cudart.OpWait }
	r.rt.refuses(refuseWaits)
	for range 3 {
		if _, err := b.Flush(false); err == nil {
			t.Fatal("the wait was not refused")
		}
		if err := b.Launch(1, copy32, Linear(1024), dst.arg(cudart.Out), src.arg(cudart.In), U32(1024)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Flush(false); err == nil || dst.poison == nil {
		t.Fatalf("error %v, poison %v", err, dst.poison)
	}
	r.rt.refuses(nil)
	r.copy(b, dst, src)
	end := r.flush(b)
	if done, err := end.Done(r.cur); done || err != nil {
		t.Fatalf("b did not wait (%v)", err)
	}
	g.open()
	if got := r.read(b, dst); got[0] != 7 {
		t.Errorf("b copied %d", got[0])
	}
}

// A list that is full when a wait or a free comes is submitted first; what is
// refused of it does not take the wait or the free along.
func TestF2b_AFullListLosesNothing(t *testing.T) {
	r := newRig(t, 0)
	a, b, g := r.stream(r.devs[0], "a"), r.stream(r.devs[0], "b"), r.gate()
	src, dst := wordsOf(r.alloc(a, 4096)), wordsOf(r.alloc(b, 4096))
	gone := r.alloc(b, 4096)
	r.sync(a, b)
	g.hold(a)
	r.fill(a, src, 7)
	p := r.flush(a)
	done := r.stream(r.devs[0], "done") // to be waited for as often as there is room
	r.fill(done, wordsOf(r.alloc(done, 512)), 1)
	r.flush(done)
	fill := func() { // with something to be refused, and what takes the least room
		b.list.Fill(dst.ptr, 1, 4, 1024)
		for b.list.Wait(done.marks[0].event) {
		}
	}
	fill()
	r.rt.refuses(func(c cudart.Command) bool { return c.Op == cudart.OpFill })
	if err := b.WaitFor(p, ""); err == nil {
		t.Error("the full list was not submitted")
	}
	if len(b.pinned) != 1 {
		t.Errorf("%d waits are on their way, want the one", len(b.pinned))
	}
	fill()
	r.devs[0].mem.forget(gone)
	r.rt.take()
	if err := b.free(gone.ptr); err == nil {
		t.Error("the full list was not submitted")
	}
	r.rt.refuses(nil)
	r.copy(b, dst, src)
	end := r.flush(b)
	if done, err := end.Done(r.cur); done || err != nil {
		t.Errorf("the wait was lost (%v)", err)
	}
	g.open()
	if got := r.read(b, dst); got[0] != 7 {
		t.Errorf("b copied %d", got[0])
	}
	if n := r.rt.take(); n.ops[cudart.OpFree] != 1 {
		t.Errorf("%d frees", n.ops[cudart.OpFree])
	}
}

// A record behind a refused command may be refused too, of which nobody hears: a
// point that nothing stands for must not count as complete.
func TestF2b_ARefusedRecordBehindARefusedCommand(t *testing.T) {
	r := newRig(t, 0)
	s, g := r.stream(r.devs[0], "s"), r.gate()
	mem := wordsOf(r.alloc(s, 4096))
	r.sync(s)
	g.hold(s)
	r.fill(s, mem, 5)
	r.rt.refuses(func(c cudart.Command) bool { return c.Op == cudart.OpLaunch || c.Op == cudart.OpRecord })
	p, err := s.Flush(true)
	if err == nil {
		t.Error("nothing was refused")
	}
	r.ok(s.Poll())
	r.rt.refuses(nil)
	if p.Known() {
		t.Fatal("the gate is closed")
	}
	if done, err := p.Done(r.cur); done || err != nil {
		t.Errorf("done %v (%v), and the gate is closed", done, err)
	}
	g.open()
	r.until("done", func() bool { done, err := p.Done(r.cur); r.ok(err); return done })
}

// Without an event what was issued runs all the same, and a later flush shows its
// end.
func TestF2b_NoEventForAPoint(t *testing.T) {
	r := newRig(t, 0)
	s := r.stream(r.devs[0], "s")
	mem := wordsOf(r.alloc(s, 4096))
	r.fill(s, mem, 5)
	s.spare = nil
	r.rt.noEvent = true
	p, err := s.Flush(true)
	r.rt.noEvent = false
	var refused *SubmitError
	if !errors.As(err, &refused) || refused.Op != "record" || mem.poison != nil {
		t.Errorf("error %v, poison %v", err, mem.poison)
	}
	r.until("done", func() bool { done, err := p.Done(r.cur); r.ok(err); return done })
	if got := r.read(s, mem); got[0] != 5 {
		t.Errorf("memory holds %d", got[0])
	}
}

// A refused peer copy leaves its stream as it was: nothing of it runs later.
func TestF2b_PeerCopyRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		refuse func(cudart.Command) bool
		event  bool
		fails  bool
	}{
		{"the wait", func(c cudart.Command) bool { return c.Op == cudart.OpWait }, true, true},
		{"the copy", func(c cudart.Command) bool { return c.Op == cudart.OpCopyPeer }, true, true},
		{"the record", func(c cudart.Command) bool { return c.Op == cudart.OpRecord }, true, false},
		{"the event", nil, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, 0)
			src, dst := r.stream(r.devs[0], "source"), r.stream(r.devs[1], "destination")
			carrier := r.stream(r.devs[0], "carrier")
			from, to := r.alloc(src, 4096), r.alloc(dst, 4096)
			r.fill(src, wordsOf(from), 7)
			r.fill(dst, wordsOf(to), 1)
			r.sync(dst)
			written := r.flush(src)
			peer := PeerCopy{Dst: to.ptr, Src: from.ptr, DstDevice: r.devs[1], SrcDevice: r.devs[0], Bytes: 4096,
				After: [2]Point{written}}
			if c.name == "the wait" {
				g := r.gate()
				g.hold(src)
				peer.After[0] = r.flush(src)
				defer g.open()
			}
			r.on(dst.d)
			r.rt.refuses(c.refuse)
			r.rt.noEvent = !c.event
			end, err := carrier.CopyPeer(dst.d, peer)
			r.rt.refuses(nil)
			r.rt.noEvent = false
			var refused *SubmitError
			if (err != nil) != c.fails || c.fails && (!errors.As(err, &refused) || refused.Stream != "carrier") {
				t.Fatalf("error %v", err)
			}
			want := uint32(1)
			if !c.fails {
				r.ok(dst.WaitFor(end, ""))
				want = 7
			}
			for _, g := range r.gates {
				g.open()
			}
			// Another submission on the carrier's behalf brings nothing old along.
			r.on(r.devs[0])
			r.ok(carrier.cover(carrier.Given().n, r.cur))
			r.sync(carrier)
			if got := r.read(dst, wordsOf(to)); got[0] != want {
				t.Errorf("the destination holds %d, want %d", got[0], want)
			}
		})
	}
}

func TestPeerCopyOnARetiredStream(t *testing.T) {
	r := newRig(t, 0)
	s, carrier := r.stream(r.devs[1], "s"), r.stream(r.devs[0], "carrier")
	a, b := r.alloc(carrier, 512), r.alloc(s, 512)
	r.retire(carrier)
	r.on(s.d)
	_, err := carrier.CopyPeer(s.d, PeerCopy{Dst: b.ptr, Src: a.ptr, DstDevice: s.d, SrcDevice: r.devs[0], Bytes: 512})
	if !errors.Is(err, ErrRetired) {
		t.Errorf("%v", err)
	}
}

// In debug the error says where the refused command was issued.
func TestSubmitErrorNamesThePlace(t *testing.T) {
	defer func(was bool) { Debug = was }(Debug)
	Debug = true
	r := newRig(t, 0)
	s := r.stream(r.devs[0], "s")
	mem := wordsOf(r.alloc(s, 4096))
	r.rt.refuses(func(c cudart.Command) bool { return c.Op == cudart.OpFill })
	err := s.Fill(mem.ptr, 1, 4, 1024, mem, 1)
	if err == nil {
		_, err = s.Flush(false)
	}
	var refused *SubmitError
	if !errors.As(err, &refused) || !strings.Contains(refused.Site, "refuse_test.go:") || !strings.Contains(err.Error(), refused.Site) {
		t.Errorf("%v", err)
	}
}
