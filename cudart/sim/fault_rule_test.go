package sim

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// around is what something around a machine looks like.
type around struct{ cudart.Runtime }

func (a around) Unwrap() cudart.Runtime { return a.Runtime }

func TestRulesComeAndGo(t *testing.T) {
	first := CallFault{Call: "cuEventCreate", Code: cudart.ErrOutOfMemory, When: Nth(2)}
	g := newHandRig(t, Config{Faults: []Fault{first}})
	second := Inject(around{g.r}, MemoryFault{Of: 0, Bytes: 4096})
	rules := Rules(around{g.r})
	if len(rules) != 2 || rules[0].Fault() != Fault(first) || rules[1] != second {
		t.Fatalf("%v", rules)
	}
	second.Lift()
	second.Lift()
	if rules := Rules(g.r); len(rules) != 1 {
		t.Errorf("%v", rules)
	}
	_, err := g.r.CreateEvent(g.ctx, false)
	g.is(err, 0)
	_, err = g.r.CreateEvent(g.ctx, false)
	g.is(err, cudart.ErrOutOfMemory)
	if n := rules[0].Hits(); n != 1 {
		t.Errorf("%d hits", n)
	}
}

func TestLinkOfACopy(t *testing.T) {
	at := func(d uint64) uint64 { return addressMark | d<<offsetBits | 512 }
	for _, c := range []struct {
		c        cudart.Command
		from, to int
		ok       bool
	}{
		{cudart.Command{Op: cudart.OpCopyHtoD, Dst: at(3), Src: 1, Bytes: 1}, Host, 3, true},
		{cudart.Command{Op: cudart.OpCopyDtoH, Dst: 1, Src: at(2), Bytes: 1}, 2, Host, true},
		{cudart.Command{Op: cudart.OpCopyDtoD, Dst: at(2), Src: at(2), Bytes: 1}, 2, 2, true},
		{cudart.Command{Op: cudart.OpCopyPeer, Dst: at(63), Src: at(0), Bytes: 1}, 0, 63, true},
		{cudart.Command{Op: cudart.OpCopyPeer, Dst: at(1), Src: at(0)}, 0, 0, false},
		{cudart.Command{Op: cudart.OpFill, Dst: at(1), Bytes: 1}, 0, 0, false},
		{cudart.Command{Op: cudart.OpLaunch}, 0, 0, false},
	} {
		if from, to, ok := linkOf(&c.c); from != c.from || to != c.to || ok != c.ok {
			t.Errorf("%v: %d to %d, %v", c.c.Op, from, to, ok)
		}
	}
	for _, c := range []struct {
		f        LinkFault
		from, to int
		want     bool
	}{
		{LinkFault{From: 0, To: 1}, 0, 1, true},
		{LinkFault{From: 0, To: 1}, 1, 0, false},
		{LinkFault{From: 0, To: Any}, 0, Host, true},
		{LinkFault{From: Any, To: 1}, Host, 1, true},
		{LinkFault{From: Host, To: 1}, 0, 1, false},
		{LinkFault{From: Any, To: Any}, 1, 1, true},
	} {
		if got := c.f.about(c.from, c.to); got != c.want {
			t.Errorf("%+v is about %d to %d: %v", c.f, c.from, c.to, got)
		}
	}
}

func TestWhatALinkMakesOfBytes(t *testing.T) {
	var b [10000]byte
	for i := range b {
		b[i] = byte(i * 7)
	}
	for n := range 200 {
		src := b[:n*50+1]
		was := slices.Clone(src)
		one, two := corrupted(src, 1), corrupted(src, 1)
		wrong := 0
		for i := range src {
			if src[i] != one[i] {
				wrong++
			}
		}
		if wrong < 1 || wrong > 1+len(src)/4096 || !bytes.Equal(one, two) {
			t.Fatalf("%d of %d bytes are wrong, the same again: %v", wrong, len(src), bytes.Equal(one, two))
		}
		if len(src) > 1 && bytes.Equal(shifted(src), src) || !bytes.Equal(src, was) || len(shifted(src)) != len(src) {
			t.Fatalf("%d bytes were not shifted, or the source was", len(src))
		}
	}
}

// Each harm, on the one link in the one direction, and not on others.
func TestALinkGoesWrong(t *testing.T) {
	const n = 4096
	for _, harm := range []Harm{Drops, Mirrors, Shifts, Corrupts} {
		t.Run(harm.String(), func(t *testing.T) {
			g := newHandRig(t, Config{})
			there := must(g.r.RetainPrimary(1))
			g.use(there)
			pool := must(g.r.CreatePool(there))
			far := must(g.r.CreateStream(there))
			b := must(g.r.Alloc(there, pool, n, far))
			g.use(g.ctx)
			a, c, host := g.alloc(n), g.alloc(n), g.host(n)
			copyOver := func() []byte {
				for i := range host {
					host[i] = byte(i / 3)
				}
				g.submit(g.stream, func(l *cudart.List) {
					l.Fill(c, 0x5A, 1, n)
					l.CopyPeer(b, there, c, g.ctx, n)
					l.CopyHtoD(a, unsafe.Pointer(&host[0]), n)
					l.CopyPeer(b, there, a, g.ctx, n)
					l.CopyPeer(c, g.ctx, b, there, n)
					l.CopyDtoH(unsafe.Pointer(&host[0]), c, n)
				})
				g.hand.all()
				return slices.Clone(host)
			}
			want := copyOver()
			rule := Inject(g.r, LinkFault{From: 0, To: 1, Does: harm, When: Nth(2)})
			got := copyOver()
			if bytes.Equal(got, want) {
				t.Error("right bytes over a link that is wrong")
			}
			if all5A := bytes.Equal(got, bytes.Repeat([]byte{0x5A}, n)); all5A != (harm == Drops || harm == Mirrors) {
				t.Errorf("the destination as it was: %v", all5A)
			}
			if again := copyOver(); !bytes.Equal(again, want) || rule.Hits() != 1 {
				t.Errorf("wrong bytes behind the second copy, or %d hits", rule.Hits())
			}
			rule.Lift()
			rule = Inject(g.r, LinkFault{From: 1, To: 1, Does: harm})
			if got := copyOver(); !bytes.Equal(got, want) || rule.Hits() != 0 {
				t.Error("wrong on another link")
			}
		})
	}
}

func TestToAndFromTheHostGoesWrong(t *testing.T) {
	g := newHandRig(t, Config{Faults: []Fault{
		LinkFault{From: Host, To: Any, Does: Corrupts, When: Nth(2)},
		LinkFault{From: 0, To: Host, Does: Drops, When: Nth(3)},
	}})
	p, host := g.alloc(8), g.host(8)
	for round, want := range []string{"12345678", "?", "--------"} {
		copy(host, "12345678")
		g.submit(g.stream, func(l *cudart.List) { l.CopyHtoD(p, unsafe.Pointer(&host[0]), 8) })
		g.hand.all()
		copy(host, "--------")
		g.submit(g.stream, func(l *cudart.List) { l.CopyDtoH(unsafe.Pointer(&host[0]), p, 8) })
		g.hand.all()
		if got := string(host); want != "?" && got != want || want == "?" && (got == "12345678" || got == "--------") {
			t.Errorf("round %d: %q", round, got)
		}
	}
}

// What never ends holds its stream and whoever waits for it, takes no thread, and is
// let go by a loss or by Close.
func TestWhatNeverEnds(t *testing.T) {
	for _, f := range []Fault{LinkFault{From: Any, To: Any, Does: Hangs, When: Nth(1)}, KernelFault{Name: "log", Hangs: true, When: Nth(1)}} {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, Config{Faults: []Fault{f}})
			other := g.newStream()
			e := must(g.r.CreateEvent(g.ctx, false))
			p := g.alloc(16)
			g.submit(g.stream, func(l *cudart.List) {
				l.CopyDtoD(p, p+8, 8)
				g.launch(l, "log", cudart.Arg{Slot: 1})
				l.Record(e)
			})
			g.submit(other, func(l *cudart.List) { l.Wait(e); l.Fill(p, 1, 1, 1) })
			ended := make(chan struct{})
			go func() { g.of(other).await(); close(ended) }()
			third := g.newStream()
			g.submit(third, func(l *cudart.List) { l.Fill(p, 1, 1, 1) })
			g.is(g.r.SynchronizeStream(g.ctx, third), 0)
			synctest.Wait()
			if done := must(g.r.QueryEvent(e)); done {
				t.Error("it ended")
			}
			Rules(g.r)[0].Lift()
			synctest.Wait()
			select {
			case <-ended:
				t.Error("lifting the rule ended it")
			default:
			}
			g.is(g.r.Close(), 0)
			<-ended
		})
	}
}

func TestAKernelTraps(t *testing.T) {
	g := newHandRig(t, Config{Faults: []Fault{KernelFault{Name: "log", Code: cudart.ErrIllegalInstruction, When: Nth(2)}}})
	for id := range uint64(3) {
		g.say(g.stream, id) // submitted well: it is heard of late
	}
	g.hand.all()
	g.logged(0)
	_, err := g.r.CreateEvent(g.ctx, false)
	g.is(err, cudart.ErrIllegalInstruction)
}

func TestAKernelIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, Config{Faults: []Fault{
			KernelFault{Name: "log", Extra: time.Hour, When: Nth(1)},
			KernelFault{Name: "gate", Slower: 3},
		}})
		began := time.Now()
		g.say(g.stream, 1)
		g.is(g.r.SynchronizeStream(g.ctx, g.stream), 0)
		if d := time.Since(began); d != time.Hour {
			t.Errorf("took %v", d)
		}
		began = time.Now()
		go func() { time.Sleep(time.Minute); close(g.gate) }()
		g.submit(g.stream, func(l *cudart.List) { g.launch(l, "gate") })
		g.is(g.r.SynchronizeStream(g.ctx, g.stream), 0)
		if d := time.Since(began); d != 3*time.Minute {
			t.Errorf("took %v", d)
		}
		// A loss does not wait for it.
		began = time.Now()
		Inject(g.r, KernelFault{Extra: time.Hour})
		g.say(g.stream, 2)
		synctest.Wait()
		g.is(g.r.Close(), 0)
		if d := time.Since(began); d != 0 {
			t.Errorf("closed after %v", d)
		}
	})
}

func TestAKernelIsSlowInVirtualTime(t *testing.T) {
	took := func(faults ...Fault) time.Duration {
		g := newRig(t, Config{Clock: Virtual(), Faults: faults})
		began := g.r.Now()
		g.say(g.stream, 1)
		g.is(g.r.SynchronizeStream(g.ctx, g.stream), 0)
		return g.r.Now() - began
	}
	plain := took()
	if more := took(KernelFault{Name: "log", Extra: time.Hour}) - plain; more != time.Hour {
		t.Errorf("%v longer", more)
	}
	if more := took(KernelFault{Slower: 1000}) - plain; more < 100*time.Microsecond {
		t.Errorf("%v longer, than %v", more, plain)
	}
	if more := took(KernelFault{Name: "touch", Extra: time.Hour}) - plain; more != 0 {
		t.Errorf("another kernel: %v longer", more)
	}
}

// What never ends does not end in virtual time either, and holds nobody's clock.
func TestWhatNeverEndsInVirtualTime(t *testing.T) {
	g := newRig(t, Config{Clock: Virtual(), Faults: []Fault{KernelFault{Name: "log", Hangs: true}}})
	e := must(g.r.CreateEvent(g.ctx, false))
	g.say(g.stream, 1)
	g.submit(g.stream, func(l *cudart.List) { l.Record(e) })
	other, p := g.newStream(), g.alloc(16)
	g.submit(other, func(l *cudart.List) { l.Fill(p, 1, 1, 1) })
	g.is(g.r.SynchronizeStream(g.ctx, other), 0)
	if must(g.r.QueryEvent(e)) {
		t.Error("it ended")
	}
	g.logged()
}

// Under the clock of chaos rules act on the same happenings.
func TestRulesUnderChaos(t *testing.T) {
	for seed := range uint64(20) {
		for _, c := range []struct {
			fault Fault
			ran   []uint64
			code  cudart.Code
		}{
			{KernelFault{Name: "log", Code: cudart.ErrAssert, When: Nth(3)}, []uint64{0, 1}, cudart.ErrAssert},
			{DeviceFault{Device: 0, Running: true, After: 3}, []uint64{0, 1}, cudart.ErrUnknown}, // the copy, and two kernels
			{KernelFault{Name: "log", Hangs: true, When: Nth(3)}, []uint64{0, 1}, 0},
			{LinkFault{From: 0, To: 0, Does: Hangs, When: Nth(2)}, []uint64{0, 1, 2}, 0},
			{LinkFault{From: 0, To: 0, Does: Drops, When: Nth(2)}, []uint64{0, 1, 2, 3}, 0},
		} {
			g := newRig(t, Config{Clock: Chaos(seed)})
			e := must(g.r.CreateEvent(g.ctx, false))
			p := g.alloc(64)
			g.is(g.r.SynchronizeStream(g.ctx, g.stream), 0) // new memory is made junk there
			rule := Inject(g.r, c.fault)
			g.submit(g.stream, func(l *cudart.List) {
				l.CopyDtoD(p, p+32, 8)
				for id := range uint64(3) {
					g.launch(l, "log", cudart.Arg{Slot: id})
				}
				l.Record(e)
				l.CopyDtoD(p, p+32, 8)
				g.launch(l, "log", cudart.Arg{Slot: 3})
			})
			for range 200 { // the clock goes on, and looks at the stream again and again
				_, _ = g.r.QueryEvent(e)
			}
			if c.code == 0 && len(c.ran) < 4 {
				for len(g.log) < len(c.ran) {
					if _, err := g.r.QueryEvent(e); err != nil {
						t.Fatal(err)
					}
				}
			} else {
				g.is(g.r.SynchronizeStream(g.ctx, g.stream), c.code)
			}
			if n := rule.Hits(); n != 1 || !slices.Equal(g.log, c.ran) {
				t.Fatalf("seed %d, %+v: %d hits, ran %v", seed, c.fault, n, g.log)
			}
			g.is(g.r.SetCurrent(0), 0)
			g.is(g.r.Close(), 0)
			g.use(0)
		}
	}
}

func TestMemoryRunsOutEarly(t *testing.T) {
	g := newHandRig(t, Config{})
	free, _, err := g.r.MemInfo(g.ctx)
	g.is(err, 0)
	kept := g.alloc(4096)
	rule := Inject(g.r, MemoryFault{Of: 0, Bytes: 8192})
	pinned := Inject(g.r, MemoryFault{Of: Host, Bytes: 8192})
	if now, _, err := g.r.MemInfo(g.ctx); err != nil || now != free-4096 {
		t.Errorf("%d bytes are said to be free (%v)", now, err)
	}
	p := g.alloc(4096)
	_, err = g.r.Alloc(g.ctx, g.pool, 1, g.stream)
	g.is(err, cudart.ErrOutOfMemory)
	g.host(8000)
	_, err = g.r.AllocHost(g.ctx, 193)
	g.is(err, cudart.ErrOutOfMemory)
	g.host(192)
	if rule.Hits() != 1 || pinned.Hits() != 1 {
		t.Errorf("%d and %d hits", rule.Hits(), pinned.Hits())
	}
	g.submit(g.stream, func(l *cudart.List) { l.Free(p) })
	g.hand.all()
	g.submit(g.stream, func(l *cudart.List) { l.Free(g.alloc(4096)); l.Free(kept) })
	g.hand.all()
	_, err = g.r.Alloc(g.ctx, g.pool, 8193, g.stream)
	g.is(err, cudart.ErrOutOfMemory)
	rule.Lift()
	g.alloc(1 << 20)
}

func TestADeviceFallsOff(t *testing.T) {
	for _, running := range []bool{false, true} {
		g := newHandRig(t, Config{})
		e := must(g.r.CreateEvent(g.ctx, false))
		rule := Inject(g.r, DeviceFault{Device: 0, After: 2, Running: running})
		_, err := g.r.CreateContext(1) // another device's
		g.is(err, 0)
		i, err := g.try(g.stream, func(l *cudart.List) {
			for id := range uint64(3) {
				g.launch(l, "log", cudart.Arg{Slot: id})
			}
		})
		if running {
			g.is(err, 0)
			g.hand.all()
			g.logged(0, 1)
		} else if g.is(err, cudart.ErrUnknown); i != 2 {
			t.Errorf("command %d was refused", i)
		}
		_, err = g.r.QueryEvent(e)
		g.is(err, cudart.ErrUnknown)
		_, err = g.r.CreateContext(1)
		g.is(err, cudart.ErrUnknown)
		if rule.Hits() != 1 {
			t.Errorf("%d hits", rule.Hits())
		}
	}
}

func TestAPeerClaimThatIsFalse(t *testing.T) {
	g := newHandRig(t, Config{NoPeer: func(device, peer int) bool { return device == 1 }})
	rule := Inject(g.r, PeerFault{Device: Any, Peer: Any})
	there := must(g.r.RetainPrimary(1))
	for _, pair := range [][2]int{{0, 1}, {1, 0}} {
		if ok, err := g.r.CanAccessPeer(pair[0], pair[1]); !ok || err != nil {
			t.Errorf("%v: %v, %v", pair, ok, err)
		}
	}
	if ok, err := g.r.CanAccessPeer(1, 1); ok || err != nil {
		t.Errorf("a device and itself: %v, %v", ok, err)
	}
	g.is(g.r.EnablePeer(g.ctx, there), cudart.ErrPeerUnsupported)
	g.is(g.r.AllowPeer(g.ctx, g.pool, 1), cudart.ErrInvalidDevice)
	if rule.Hits() != 4 {
		t.Errorf("%d hits", rule.Hits())
	}
	rule.Lift()
	if ok, _ := g.r.CanAccessPeer(1, 0); ok {
		t.Error("the claim is still made")
	}
	g.is(g.r.EnablePeer(g.ctx, there), 0)
}

// A kernel that waits is begun twice under the clock of chaos, and is one launch.
func TestRulesCountAKernelThatWaitsOnce(t *testing.T) {
	for seed := range uint64(4) {
		g := newRig(t, Config{Clock: Chaos(seed)})
		ended := 0
		m := must(g.r.LoadModule(g.ctx, cudart.Image{Name: "waits", PTX: testPTX, Go: map[string]cudart.GoKernel{
			"log": func(k *cudart.KernelCall) { k.Yield(); ended++ },
		}}))
		f, _, err := g.r.Function(g.ctx, m, "log")
		g.is(err, 0)
		Inject(g.r, KernelFault{Code: cudart.ErrAssert, When: Nth(2)})
		for n, code := range []cudart.Code{0, cudart.ErrAssert} {
			g.submit(g.stream, func(l *cudart.List) { l.Launch(f, one, one, 0, cudart.Arg{}) })
			if g.is(g.r.SynchronizeStream(g.ctx, g.stream), code); ended != 1 {
				t.Fatalf("seed %d: after launch %d, %d have ended", seed, n+1, ended)
			}
		}
		g.is(g.r.SetCurrent(0), 0)
		g.is(g.r.Close(), 0)
		g.use(0)
	}
}
