package device

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

// The stream that released a block takes it again at once, also while it is held
// and before anything is submitted, without a call of the driver.
func TestOwnReuseNeedsNoDriver(t *testing.T) {
	r := newRig(t, 0)
	s, g := r.stream(r.devs[0], "s"), r.gate()
	b := r.alloc(s, 4096)
	g.hold(s)
	r.fill(s, wordsOf(b), 1)
	if s.Pending() == 0 {
		t.Fatal("s is busy, and what it is given is not collected")
	}
	r.rt.take()
	for range 1000 {
		b.Release(s.Next())
		again, err := r.devs[0].Alloc(s, 4000, false)
		r.ok(err)
		if again != b {
			t.Fatal("another block than the one released last")
		}
	}
	if n := r.rt.take(); n != (counts{}) {
		t.Errorf("the driver was called: %+v", n)
	}
}

// Another stream gets a block only when its last use is known complete; until then
// it gets new memory, and never waits.
func TestAnotherStreamTakesWhatIsComplete(t *testing.T) {
	r := newRig(t, 0)
	a, b, g := r.stream(r.devs[0], "a"), r.stream(r.devs[0], "b"), r.gate()
	used := r.alloc(a, 4096)
	g.hold(a)
	r.fill(a, wordsOf(used), 1)
	used.Release(a.Next())

	other := r.alloc(b, 4096) // its use is not even submitted
	_, err := a.Flush(true)
	r.ok(err)
	third := r.alloc(b, 4096) // submitted, not complete
	if other == used || third == used {
		t.Fatal("the block is in use")
	}
	g.open()
	r.sync(a)
	r.rt.take()
	if got := r.alloc(b, 4096); got != used {
		t.Error("the block is free, and was not taken")
	}
	if n := r.rt.take(); n.allocs != 0 || n.ops[cudart.OpWait] != 0 {
		t.Errorf("%+v", n)
	}
}

// A block for the first use by another stream is one that is complete, if there is
// one; else one of its own stream, with the point to wait for.
func TestAllocElsewhere(t *testing.T) {
	r := newRig(t, 0)
	a, g := r.stream(r.devs[0], "a"), r.gate()
	complete, inUse := r.alloc(a, 4096), r.alloc(a, 4096)
	r.fill(a, wordsOf(complete), 1)
	complete.Release(a.Next())
	r.sync(a)
	g.hold(a)
	r.fill(a, wordsOf(inUse), 1)
	inUse.Release(a.Next())
	first, err := r.devs[0].Alloc(a, 4096, true)
	r.ok(err)
	second, err := r.devs[0].Alloc(a, 4096, true)
	r.ok(err)
	if first != complete || !first.Ready().Known() {
		t.Error("the block that is complete was not taken first")
	}
	if second != inUse || second.Ready() != a.Next() {
		t.Errorf("the second block is ready at %v, want %v", second.Ready(), a.Next())
	}
	r.rt.take()
	third, err := r.devs[0].Alloc(a, 4096, true)
	r.ok(err)
	if third == inUse || third == complete || third.Ready() != (Point{}) {
		t.Error("a new block is not ready at once")
	}
	if n := r.rt.take(); n.allocs != 1 || n.synchronised != 1 {
		t.Errorf("a new block took %d allocations of the driver and %d waits for it, want 1 and 1", n.allocs, n.synchronised)
	}
}

// What is cached is returned to the driver before an allocation fails.
func TestTrimmingComesBeforeFailing(t *testing.T) {
	const budget = 1 << 20
	for _, c := range []struct {
		name   string
		first  uint64 // bytes of each of the blocks that are cached
		blocks int
		then   uint64
	}{
		{"small ones for a large one", 64 << 10, 16, 1 << 20},
		{"a large one for a small one", 1 << 20, 1, 512},
		{"some for one", 128 << 10, 8, 256 << 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, budget)
			s := r.stream(r.devs[0], "s")
			blocks := make([]*Block, c.blocks)
			for i := range blocks {
				blocks[i] = r.alloc(s, c.first)
				r.fill(s, wordsOf(blocks[i]), 1)
			}
			for _, b := range blocks {
				b.Release(s.Next())
			}
			r.sync(s)
			if m := r.devs[0].Memory(); m.Held != 0 || m.Reserved != budget {
				t.Fatalf("cached: %+v", m)
			}
			r.rt.take()
			b := r.alloc(s, c.then)
			r.fill(s, wordsOf(b), 2)
			r.sync(s)
			m, n := r.devs[0].Memory(), r.rt.take()
			if m.Reserved > budget || m.Held != b.bytes || n.allocs != 1 || n.ops[cudart.OpFree] == 0 {
				t.Errorf("%+v, %d allocations and %d frees", m, n.allocs, n.ops[cudart.OpFree])
			}
			if want := int((c.then + c.first - 1) / c.first); n.ops[cudart.OpFree] > want {
				t.Errorf("%d blocks freed, %d were enough", n.ops[cudart.OpFree], want)
			}
		})
	}
}

// The driver says that there is no memory: what is cached is what was missing.
func TestTrimmingWhenTheDriverHasNone(t *testing.T) {
	r := newRig(t, 1<<62) // more than there is
	s := r.stream(r.devs[0], "s")
	free, _, err := r.rt.MemInfo(r.cur.ctx)
	r.ok(err)
	if onDriver() {
		t.Skip("needs most of the device's memory: on the simulator")
	}
	b, err := r.devs[0].Alloc(s, free/3*2, false)
	r.ok(err)
	b.Release(s.Next())
	r.sync(s)
	c, err := r.devs[0].Alloc(s, free/4*3, false)
	r.ok(err)
	if _, err := r.devs[0].Alloc(s, free/4*3, false); !errors.Is(err, cudart.ErrOutOfMemory) {
		t.Errorf("more than there is: %v", err)
	}
	if m := r.devs[0].Memory(); m.Held != c.bytes || m.Reserved != c.bytes {
		t.Errorf("after a refusal: %+v, the one block has %d", m, c.bytes)
	}
}

func TestBudget(t *testing.T) {
	const budget = 8 * 4096
	r := newRig(t, budget)
	d, s, g := r.devs[0], r.stream(r.devs[0], "s"), r.gate()

	var over *BudgetError
	if _, err := d.Alloc(s, budget+1, false); !errors.As(err, &over) || !errors.Is(err, cudart.ErrOutOfMemory) || over.Asked != budget+1 || over.Budget != budget {
		t.Errorf("more than the whole budget: %v", err)
	}
	if _, err := d.Alloc(s, MaxAlloc+1, false); !errors.Is(err, cudart.ErrOutOfMemory) {
		t.Errorf("more than any device has: %v", err)
	}
	var blocks []*Block
	for range 8 {
		blocks = append(blocks, r.alloc(s, 4096))
	}
	if _, err := d.Alloc(s, 1, false); !errors.Is(err, ErrBudget) || errors.Is(err, cudart.ErrOutOfMemory) {
		t.Errorf("one byte more than the budget: %v", err)
	}
	// Released but in use: still held, for a stream that would have to wait.
	other := r.stream(r.devs[0], "other")
	g.hold(s)
	blocks[0].Release(s.Next())
	if _, err := d.Alloc(other, 1, false); !errors.Is(err, ErrBudget) {
		t.Errorf("of a block in use: %v", err)
	}
	g.open()
	r.sync(s)
	if b := r.alloc(other, 4096); b != blocks[0] {
		t.Error("of a block that is free")
	}
}

// A budget that is no multiple of a class is usable to its last byte.
func TestABudgetBetweenClasses(t *testing.T) {
	const budget = 5000 // a block of that size would have 5120
	r := newRig(t, budget)
	s := r.stream(r.devs[0], "s")
	for _, n := range []uint64{budget, 4700} {
		b := r.alloc(s, n)
		if b.bytes > budget {
			t.Errorf("a block of %d", b.bytes)
		}
		b.Release(s.Next())
		r.sync(s)
	}
	if m := r.devs[0].Memory(); m.Allocs != 1 || m.Reserved != budget || m.Held != 0 {
		t.Errorf("%+v", m)
	}
}

// The books are kept whatever happens: what is held is what is in use or not known
// complete, what is reserved stays in the budget, and all of it comes back.
func TestTheBooksOfMemory(t *testing.T) {
	const budget = 1 << 20
	r := newRig(t, budget)
	d := r.devs[0]
	ss := []*Stream{r.stream(d, "a"), r.stream(d, "b"), r.stream(r.devs[1], "c")}
	rng := rand.New(rand.NewPCG(1, 2))
	var inUse []*Block
	steps := 20_000
	if testing.Short() || raceEnabled {
		steps = 2000
	}
	for i := range steps {
		s := ss[rng.IntN(len(ss))]
		r.on(s.d)
		switch rng.IntN(8) {
		case 0, 1, 2:
			if s.d != d {
				continue
			}
			r.rt.noAlloc = rng.IntN(16) == 0
			b, err := d.Alloc(s, 1+rng.Uint64N(1<<(9+rng.IntN(9))), rng.IntN(2) == 0)
			r.rt.noAlloc = false
			if err == nil {
				inUse = append(inUse, b)
			} else if !errors.Is(err, ErrBudget) && !errors.Is(err, errRefused) {
				t.Fatal(err)
			}
		case 3, 4, 5:
			if len(inUse) > 0 {
				k := rng.IntN(len(inUse))
				b := inUse[k]
				inUse[k] = inUse[len(inUse)-1]
				inUse = inUse[:len(inUse)-1]
				if ready := b.Ready(); ready.s != nil && ready.s != s { // handed over
					r.on(ready.s.d)
					_, err := ready.s.Flush(rng.IntN(2) == 0)
					r.ok(err)
					r.on(s.d)
					r.ok(s.WaitFor(ready, ""))
				}
				if s.d == d {
					r.fill(s, wordsOf(b), uint32(i))
				}
				b.Release(s.Next())
			}
		case 6:
			_, err := s.Flush(rng.IntN(2) == 0)
			r.ok(err)
		case 7:
			r.ok(d.PollMemory(r.cur))
		}
		m, sum := d.Memory(), uint64(0)
		for _, b := range inUse {
			sum += b.bytes
		}
		if m.Held < sum || m.Held > m.Reserved || m.Reserved > budget {
			t.Fatalf("step %d: %+v with %d bytes in use", i, m, sum)
		}
	}
	r.on(d)
	for _, b := range inUse {
		b.Release(ss[0].Next())
	}
	r.sync(ss...)
	r.on(d)
	r.ok(d.PollMemory(r.cur))
	if m := d.Memory(); m.Held != 0 {
		t.Errorf("with nothing in use: %+v", m)
	}
	if !d.mem.sem.TryAcquire(budget) {
		t.Error("the budget has not come back in full")
	}
	d.mem.sem.Release(budget)
}

// A block released at a point of another device's stream comes back too.
func TestReleaseAtAnotherDevicesPoint(t *testing.T) {
	r := newRig(t, 0)
	a, far, g := r.stream(r.devs[0], "a"), r.stream(r.devs[1], "far"), r.gate()
	b := r.alloc(a, 4096)
	p := r.flush(a)
	g.hold(far)
	r.ok(far.WaitFor(p, ""))
	b.Release(far.Next())
	r.flush(far)
	if again := r.alloc(a, 4096); again == b {
		t.Fatal("the block is in use on the other device")
	}
	g.open()
	r.sync(far)
	r.on(r.devs[0])
	r.ok(r.devs[0].PollMemory(r.cur))
	if again := r.alloc(a, 4096); again != b {
		t.Error("the block is free and was not found")
	}
}

// TestM1_AOneWayPipelineStaysFlat: buffers allocated on a, sent to b, and released
// there; nothing comes back from b to a. What is reserved stays at about the bound
// of what is on its way, and no stream waits because memory is reused: there is one
// wait for each hand-off, and no other.
func TestM1_AOneWayPipelineStaysFlat(t *testing.T) {
	for _, c := range []struct {
		name  string
		items int
		slow  bool // the consumer's kernels take long, and the producer is held back by the bound alone
		bytes uint64
	}{
		{"fast", 100_000, false, 4096},
		{"slow", 2_000, true, 1 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, 0)
			a, b := r.stream(r.devs[0], "a"), r.stream(r.devs[0], "b")
			r.ok(r.devs[0].Load(module))
			busy := module.Kernel("busy", Scalar[uint64]())
			const bound = 8
			var reads [bound]Point // of the last items, on b
			r.rt.take()
			items, most := c.items, uint64(0)
			if testing.Short() || raceEnabled {
				items /= 50
			}
			handOffs := 0
			for i := range items {
				block, err := r.devs[0].Alloc(a, c.bytes, false)
				for errors.Is(err, ErrBudget) {
					block, err = r.devs[0].Alloc(a, c.bytes, false)
				}
				r.ok(err)
				mem := wordsOf(block)
				mem.n = 16
				r.fill(a, mem, uint32(i))
				p := r.flush(a)
				if !p.Known() {
					handOffs++
				}
				r.ok(b.WaitFor(p, "hand-off"))
				r.ok(b.Launch(1, add32, Linear(16), mem.arg(cudart.InOut), U32(1), U32(16)))
				if c.slow {
					r.ok(b.Launch(1, busy, Blocks(1, 1), U64(20_000)))
				}
				block.Release(b.Next())
				r.flush(b)
				if done := &reads[i%bound]; true {
					r.until("an item is read", func() bool { ok, err := done.Done(r.cur); r.ok(err); return ok })
					*done = b.Given()
				}
				most = max(most, r.devs[0].Memory().Reserved)
			}
			_, size := classOf(c.bytes)
			if limit := size * uint64(bound+growLimit(size)); most > limit {
				t.Errorf("%d bytes reserved for %d items of %d on their way, at most %d were expected", most, bound, size, limit)
			}
			if n := r.rt.take(); n.ops[cudart.OpWait] > handOffs {
				t.Errorf("%d waits for %d hand-offs", n.ops[cudart.OpWait], handOffs)
			}
		})
	}
}
