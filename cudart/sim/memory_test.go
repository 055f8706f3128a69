package sim

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

func TestFitting(t *testing.T) {
	for _, c := range []struct {
		bytes, used, reserved, freeing, room uint64
		want                                 fit
	}{
		{10, 0, 0, 0, 10, fits},
		{10, 0, 10, 0, 0, fits},
		{11, 0, 10, 0, 0, fitsNot},
		{10, 10, 10, 0, 9, fitsNot},
		{10, 10, 10, 10, 0, fitsLater},
		{10, 20, 10, 20, 0, fitsLater}, // taken ahead of a free already
		{10, 20, 10, 10, 0, fitsNot},
	} {
		if got := fitting(c.bytes, c.used, c.reserved, c.freeing, c.room); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestAllocationsAreApartAndAligned(t *testing.T) {
	g := newRig(t, Config{})
	type taken struct{ p, n uint64 }
	var all []taken
	for _, n := range []uint64{1, 511, 512, 513, 4096, 1<<20 + 1, 1 << 24, 1<<24 + 1, 1 << 25, 1<<25 + 7, 3} {
		p := uint64(g.alloc(n))
		if p%512 != 0 {
			t.Errorf("%d bytes at %#x", n, p)
		}
		for _, o := range all {
			if p < o.p+o.n && o.p < p+n {
				t.Errorf("%d at %#x overlaps %d at %#x", n, p, o.n, o.p)
			}
		}
		all = append(all, taken{p, n})
	}
}

func TestRangesOutsideAnAllocationAreRefused(t *testing.T) {
	g := newHandRig(t, Config{})
	p, h := g.alloc(1000), g.host(1000)
	far := must(g.r.Alloc(g.ctx, g.poolOn(1), 1000, g.stream))
	at := unsafe.Pointer(&h[0])
	for name, c := range map[string]func(l *cudart.List){
		"too long":           func(l *cudart.List) { l.CopyHtoD(p+1, at, 1000) },
		"host too long":      func(l *cudart.List) { l.CopyDtoH(unsafe.Pointer(&h[1]), p, 1000) },
		"Go's heap":          func(l *cudart.List) { l.CopyHtoD(p, unsafe.Pointer(&make([]byte, 8)[0]), 8) },
		"no address":         func(l *cudart.List) { l.CopyDtoD(p, 8, 8) },
		"no device":          func(l *cudart.List) { l.CopyDtoD(p, addressMark|99<<offsetBits, 8) },
		"another device":     func(l *cudart.List) { l.CopyDtoD(p, far, 8) },
		"overflow":           func(l *cudart.List) { l.CopyDtoD(p, p+8, ^uint64(0)-4) },
		"fill of width 3":    func(l *cudart.List) { l.Fill(p, 0, 3, 1) },
		"misaligned fill":    func(l *cudart.List) { l.Fill(p+2, 0, 4, 1) },
		"fill wraps around":  func(l *cudart.List) { l.Fill(p, 0, 4, 1<<62+1) },
		"free of the middle": func(l *cudart.List) { l.Free(p + 8) },
		"free of nothing":    func(l *cudart.List) { l.Free(8) },
	} {
		_, err := g.try(g.stream, c)
		t.Run(name, func(t *testing.T) { (&rig{TB: t}).is(err, cudart.ErrInvalidValue) })
	}
	g.submit(g.stream, func(l *cudart.List) { l.CopyHtoD(0, nil, 0); l.CopyDtoD(p, 1, 0); l.Fill(4, 0, 4, 0) })
}

func (g *rig) poolOn(device int) cudart.Pool {
	ctx := must(g.r.RetainPrimary(device))
	g.use(ctx)
	p := must(g.r.CreatePool(ctx))
	g.use(g.ctx)
	return p
}

func TestDoubleFreeIsRefusedBeforeTheFirstHasRun(t *testing.T) {
	g := newHandRig(t, Config{})
	p := g.alloc(512)
	i, err := g.try(g.stream, func(l *cudart.List) { l.Free(p); l.Free(p) })
	if i != 1 {
		t.Fatalf("command %d refused", i)
	}
	g.is(err, cudart.ErrInvalidValue)
}

func TestUseBehindAFreeIsALateFault(t *testing.T) {
	g := newHandRig(t, Config{})
	p := g.alloc(512)
	g.submit(g.stream, func(l *cudart.List) { l.Free(p); l.Fill(p, 0, 1, 8) })
	g.hand.all()
	g.is(g.r.SynchronizeStream(g.ctx, g.stream), cudart.ErrIllegalAddress)
}

func TestNewMemoryIsNotZero(t *testing.T) {
	g := newRig(t, Config{})
	for _, n := range []uint64{16, 4096, 1 << 20, 1 << 26} {
		h := g.host(16)
		for range 2 { // new, and again
			clear(h)
			p := g.alloc(n)
			g.submit(g.stream, func(l *cudart.List) {
				l.CopyDtoH(unsafe.Pointer(&h[0]), p, 16)
				l.Fill(p, 0, 1, n)
				l.Free(p)
			})
			g.is(g.r.SynchronizeStream(g.ctx, g.stream), 0)
			if bytes.IndexByte(h, 0) >= 0 {
				t.Fatalf("%d new bytes begin with %x", n, h)
			}
		}
	}
}

// I5: memory that a running command holds is not reused.
func TestI5_MemoryInUseIsNotReused(t *testing.T) {
	g := newHandRig(t, Config{})
	p := g.alloc(512)
	m, _ := g.r.memoryOf(uint64(p))
	at, b, _ := m.pin(uint64(p), 512)
	b[0] = 1
	g.submit(g.stream, func(l *cudart.List) { g.touch(l, p+1); l.Free(p) }) // a kernel lets go of what it used
	g.hand.all()
	if q := g.alloc(512); q == p || b[0] != 1 {
		t.Fatal("reused while in use")
	}
	at.release()
	if q := g.alloc(512); q != p {
		t.Fatal("not reused when no longer in use")
	}
}

func TestI5_PinnedMemoryInUseStaysMapped(t *testing.T) {
	g := newHandRig(t, Config{})
	h := g.host(8192)
	p := uint64(uintptr(unsafe.Pointer(&h[0])))
	region, b := g.r.pinned.pin(p, 8192)
	g.is(g.r.FreeHost(g.ctx, unsafe.Pointer(&h[0])), 0)
	b[5000] = 1 // would be a fault of the process
	g.is(g.r.FreeHost(g.ctx, unsafe.Pointer(&h[0])), cudart.ErrInvalidValue)
	if g.r.pinned.known(p, 1) {
		t.Error("a copy could still be submitted")
	}
	g.r.pinned.release(region)
}

func TestPoolKeepsWhatIsFreedUntilTrimmed(t *testing.T) {
	g := newRig(t, Config{Memory: 1 << 30})
	free := func() uint64 {
		n, total, err := g.r.MemInfo(g.ctx)
		g.is(err, 0)
		if total != 1<<30 {
			t.Fatalf("%d bytes in total", total)
		}
		return n
	}
	p := g.alloc(600 << 20)
	if got := free(); got != 424<<20 {
		t.Fatalf("%d free", got)
	}
	_, err := g.r.Alloc(g.ctx, g.pool, 600<<20, g.stream)
	g.is(err, cudart.ErrOutOfMemory)
	g.submit(g.stream, func(l *cudart.List) { l.Free(p) })
	g.is(g.r.SynchronizeStream(g.ctx, g.stream), 0)
	if got := free(); got != 424<<20 {
		t.Fatalf("%d free while the pool keeps what was freed", got)
	}
	other := must(g.r.CreatePool(g.ctx))
	_, err = g.r.Alloc(g.ctx, other, 600<<20, g.stream)
	g.is(err, cudart.ErrOutOfMemory)
	g.is(g.r.TrimPool(g.ctx, g.pool, 100<<20), 0)
	if got := free(); got != 924<<20 {
		t.Fatalf("%d free", got)
	}
	p = must(g.r.Alloc(g.ctx, other, 600<<20, g.stream))
	g.is(g.r.DestroyPool(g.ctx, other), 0)
	if got := free(); got != 324<<20 {
		t.Fatalf("%d free: the pool is gone, its allocation is not", got)
	}
	g.submit(g.stream, func(l *cudart.List) { l.Free(p) })
	g.is(g.r.SynchronizeStream(g.ctx, g.stream), 0)
	if got := free(); got != 924<<20 {
		t.Fatalf("%d free", got)
	}
}

// Memory whose free is queued can be had at once; on another stream that
// waits for the free.
func TestAllocBehindAQueuedFree(t *testing.T) {
	g := newHandRig(t, Config{Memory: 1 << 30})
	b := g.newStream()
	p := g.alloc(1 << 30)
	g.say(g.stream, 1)
	g.submit(g.stream, func(l *cudart.List) { l.Free(p) })
	q := must(g.r.Alloc(g.ctx, g.pool, 1<<30, b))
	g.say(b, 2)
	g.hand.only(g.of(b))
	g.logged()
	_, err := g.r.Alloc(g.ctx, g.pool, 1<<30, b)
	g.is(err, cudart.ErrOutOfMemory) // the free was used up
	g.hand.all()
	g.logged(1, 2)
	g.submit(b, func(l *cudart.List) { l.Free(q) })
	g.hand.all()
	if got := g.r.poolTable.get(uintptr(g.pool)); got.used != 0 || got.freeing != 0 || got.reserved != 1<<30 {
		t.Fatalf("pool %+v", got)
	}
}

func TestKernelsReachOtherDevicesMemoryOnlyWhereOpen(t *testing.T) {
	for name, c := range map[string]struct {
		open func(g *rig, far cudart.Context, pool cudart.Pool)
		code cudart.Code
	}{
		"closed": {func(*rig, cudart.Context, cudart.Pool) {}, cudart.ErrIllegalAddress},
		"EnablePeer": {func(g *rig, far cudart.Context, _ cudart.Pool) {
			g.is(g.r.EnablePeer(g.ctx, far), 0)
			g.is(g.r.EnablePeer(g.ctx, far), 0)
		}, cudart.ErrIllegalAddress},
		"AllowPeer": {func(g *rig, far cudart.Context, pool cudart.Pool) {
			g.use(far)
			g.is(g.r.AllowPeer(far, pool, 0), 0)
			g.use(g.ctx)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Config{})
			far := must(g.r.RetainPrimary(1))
			pool := g.poolOn(1)
			c.open(g, far, pool)
			p := must(g.r.Alloc(g.ctx, pool, 512, g.stream))
			g.submit(g.stream, func(l *cudart.List) { l.CopyPeer(p, far, p, far, 0); g.touch(l, p) })
			g.is(g.r.SynchronizeStream(g.ctx, g.stream), c.code)
		})
	}
}

func TestNoPeerIsOneWay(t *testing.T) {
	g := newRig(t, Config{NoPeer: func(device, peer int) bool { return device == 0 && peer == 1 }})
	for _, c := range []struct {
		device, peer int
		want         bool
	}{{0, 1, false}, {1, 0, true}, {0, 0, false}} {
		if got := must(g.r.CanAccessPeer(c.device, c.peer)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	far := must(g.r.RetainPrimary(1))
	g.is(g.r.EnablePeer(g.ctx, far), cudart.ErrPeerUnsupported)
	pool := g.poolOn(1)
	g.is(g.r.AllowPeer(g.ctx, pool, 0), cudart.ErrInvalidDevice)
	p, q := g.alloc(512), must(g.r.Alloc(g.ctx, pool, 512, g.stream))
	h := g.host(512)
	copy(h, "across")
	g.submit(g.stream, func(l *cudart.List) {
		l.CopyHtoD(p, unsafe.Pointer(&h[0]), 512)
		l.CopyPeer(q, far, p, g.ctx, 512)
		l.Fill(p, 0, 1, 512)
		l.CopyPeer(p, g.ctx, q, far, 512)
		l.CopyDtoH(unsafe.Pointer(&h[256]), p, 6)
	})
	g.is(g.r.SynchronizeStream(g.ctx, g.stream), 0)
	if string(h[256:262]) != "across" {
		t.Fatalf("%q arrived", h[256:262])
	}
}

func TestFillSparse(t *testing.T) {
	for _, width := range []int{1, 2, 4} {
		for _, n := range []int{width, 3 * width, 4096, sparseMin + width} {
			for _, pattern := range []uint32{0, 0x04030201, 0xff00} {
				b := bytes.Repeat([]byte{9}, n)
				fillSparse(b, pattern, width)
				for i := range b {
					if b[i] != byte(pattern>>(8*(i%width))) {
						t.Fatalf("width %d, %d bytes of %#x: byte %d is %#x", width, n, pattern, i, b[i])
					}
				}
			}
		}
	}
}

func TestTrimUnmapsWhatIsEmpty(t *testing.T) {
	g := newHandRig(t, Config{})
	small, p, q := g.alloc(512), g.alloc(4096), g.alloc(4096)
	m, _ := g.r.memoryOf(uint64(p))
	free := func(p cudart.DevicePtr) {
		g.submit(g.stream, func(l *cudart.List) { l.Free(p) })
		g.hand.all()
		g.is(g.r.TrimPool(g.ctx, g.pool, 0), 0)
	}
	free(p)
	if m.spanAt(uint64(q)) == nil {
		t.Fatal("unmapped with an allocation in it")
	}
	free(q)
	if m.spanAt(uint64(q)) != nil || m.spanAt(uint64(small)) == nil {
		t.Fatal("what is empty stays, or what is not went")
	}
	p = g.alloc(4096)
	g.submit(g.stream, func(l *cudart.List) { l.Fill(p, 0, 1, 4096) })
}
