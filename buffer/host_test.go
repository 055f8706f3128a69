package buffer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
	"github.com/gpuactor/gpuactor/device"
)

// Slice waits until every copy on the memory has finished: one that has not been
// submitted, one on its way, one issued by another stream, and the later of two.
func TestSliceWaitsForCopies(t *testing.T) {
	for _, c := range []struct {
		name string
		copy func(r *rig, a, b *user, h Host[uint32], x, y, z Buf[uint32])
		want uint32
	}{
		{"not submitted", func(r *rig, a, b *user, h Host[uint32], x, y, z Buf[uint32]) {
			r.ok(download(a, h, x))
		}, 7},
		{"submitted, and no event behind it", func(r *rig, a, b *user, h Host[uint32], x, y, z Buf[uint32]) {
			r.ok(download(a, h, x))
			_, err := a.o.Stream.Flush(false)
			r.ok(err)
		}, 7},
		{"two", func(r *rig, a, b *user, h Host[uint32], x, y, z Buf[uint32]) {
			r.ok(download(a, h, x))
			r.ok(download(a, h, y))
		}, 8},
		{"by another stream, handed over", func(r *rig, a, b *user, h Host[uint32], x, y, z Buf[uint32]) {
			r.ok(a.give(h.Handle, x.Handle))
			r.ok(b.take(h.Handle, x.Handle))
			r.ok(download(b, h, x))
			r.ok(b.give(h.Handle, x.Handle))
			r.ok(a.take(h.Handle, x.Handle))
		}, 7},
		{"a second one by another stream", func(r *rig, a, b *user, h Host[uint32], x, y, z Buf[uint32]) {
			r.ok(download(a, h, x))
			r.ok(a.give(h.Handle))
			r.ok(b.take(h.Handle))
			r.ok(download(b, h, z)) // behind the first: nothing else makes it wait
			r.ok(b.give(h.Handle))
			r.ok(a.take(h.Handle))
		}, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, 0)
			a, b := r.user(r.devs[0], "A"), r.user(r.devs[0], "B")
			g := r.gate()
			const n = 10_000
			x, err := New[uint32](a, n)
			r.ok(err)
			y, err := New[uint32](a, n)
			r.ok(err)
			z, err := New[uint32](b, n)
			r.ok(err)
			r.ok(b.fill(z, 9))
			h, err := NewHost[uint32](a, n)
			r.ok(err)
			slab, err := h.Slice(a)
			r.ok(err)
			clear(slab)
			b.sync()
			a.sync()
			g.hold(a)
			r.ok(a.fill(x, 7))
			r.ok(a.fill(y, 8))
			c.copy(r, a, b, h, x, y, z)
			looked := 0
			a.waited = func() {
				if looked++; looked == 10 {
					if slab[0] != 0 || slab[n-1] != 0 {
						t.Error("the memory was written while the gate is closed")
					}
					g.open()
				}
			}
			got, err := h.Slice(a)
			r.ok(err)
			if looked < 10 {
				t.Error("the slice was given while the gate is closed")
			}
			if len(got) != n || got[0] != c.want || got[n-1] != c.want {
				t.Errorf("%d elements, %d … %d, want %d", len(got), got[0], got[len(got)-1], c.want)
			}
			looked = 0
			if _, err := h.Slice(a); err != nil || looked != 0 {
				t.Errorf("a second look waited (%v)", err)
			}
		})
	}
}

// A wait for a copy ends with its owner's context; the memory stays the owner's.
func TestSliceEndsWithItsContext(t *testing.T) {
	r := newRig(t, 0)
	a, g := r.user(r.devs[0], "A"), r.gate()
	x, err := New[uint32](a, 10)
	r.ok(err)
	h, err := NewHost[uint32](a, 10)
	r.ok(err)
	r.ok(a.fill(x, 7))
	a.sync()
	g.hold(a)
	r.ok(download(a, h, x))
	stop := errors.New("stop")
	a.waited = func() { a.cancel(stop) }
	if _, err := h.Slice(a); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	a.ctx, a.waited = context.Background(), func() {}
	g.open()
	got, err := h.Slice(a)
	if err != nil || got[9] != 7 {
		t.Errorf("%v, %v", got, err)
	}
}

// An ordinary goroutine waits too, with its own context.
func TestSliceCtx(t *testing.T) {
	r := newRig(t, 0)
	a, g := r.user(r.devs[0], "A"), r.gate()
	x, err := New[uint32](a, 10)
	r.ok(err)
	h, err := HostOn[uint32](r.devs[0], 10)
	r.ok(err)
	slab, err := h.SliceCtx(t.Context())
	r.ok(err)
	clear(slab)
	Give(nil, handles(h.Handle), device.Point{})
	r.ok(a.take(h.Handle))
	a.sync()
	g.hold(a)
	r.ok(a.fill(x, 7))
	r.ok(download(a, h, x))
	_, err = h.SliceCtx(t.Context())
	r.ownership(err, "an ordinary goroutine", `"A" owns it`)
	r.ok(a.give(h.Handle))
	r.ok(TakeHere(handles(h.Handle)))

	ctx, cancel := context.WithCancelCause(context.Background())
	gaveUp := errors.New("gave up")
	cancel(gaveUp)
	if _, err := h.SliceCtx(ctx); !errors.Is(err, gaveUp) {
		t.Errorf("cancelled: %v", err)
	}
	type result struct {
		v   uint32
		err error
	}
	read := make(chan result)
	go func() {
		got, err := h.SliceCtx(context.Background())
		if err != nil {
			read <- result{0, err}
			return
		}
		read <- result{got[9], nil}
	}()
	select {
	case got := <-read:
		t.Fatalf("read %v while the gate is closed", got)
	default:
	}
	g.open()
	if got := <-read; got.v != 7 || got.err != nil {
		t.Errorf("%v", got)
	}
	r.ok(h.ReleaseHere())
}

// Pinned memory is not used again before its copy is done, whoever asks.
func TestPinnedMemoryIsNotReusedBeforeItsCopyIsDone(t *testing.T) {
	r := newRig(t, 0)
	a, g := r.user(r.devs[0], "A"), r.gate()
	const n = 1000
	x, err := New[uint32](a, n)
	r.ok(err)
	h, err := NewHost[uint32](a, n)
	r.ok(err)
	addr := func(h Host[uint32]) unsafe.Pointer { return unsafe.Pointer(&h.slice()[0]) }
	p := addr(h)
	r.ok(a.fill(x, 7))
	a.sync()
	g.hold(a)
	r.ok(download(a, h, x))
	r.ok(h.Release(a))
	mine, err := NewHost[uint32](a, n)
	r.ok(err)
	theirs, err := HostOn[uint32](r.devs[0], n)
	r.ok(err)
	if addr(mine) == p || addr(theirs) == p {
		t.Fatal("the memory is still to be written")
	}
	g.open()
	a.sync()
	again, err := NewHost[uint32](a, n)
	r.ok(err)
	if addr(again) != p {
		t.Error("the memory is free and was not found")
	}
	r.ok(theirs.ReleaseHere())
}

// A refused copy poisons the memory that it would have written.
func TestARefusedDownloadIsNotRead(t *testing.T) {
	r := newRig(t, 0)
	a := r.user(r.devs[0], "A")
	x, err := New[uint32](a, 10)
	r.ok(err)
	r.ok(a.fill(x, 7))
	h, err := NewHost[uint32](a, 10)
	r.ok(err)
	a.sync()
	r.rt.refuses(func(c cudart.Command) bool { return c.Op == cudart.OpCopyDtoH })
	err = download(a, h, x)
	if err == nil {
		_, err = h.Slice(a)
	}
	r.rt.refuses(nil)
	if err == nil {
		t.Error("nothing was refused")
	}
	var p *PoisonError
	if _, err := h.Slice(a); !errors.As(err, &p) {
		t.Errorf("read: %v", err)
	}
	r.ok(download(a, h, x))
	if got, err := h.Slice(a); err != nil || got[9] != 7 {
		t.Errorf("%v, %v", got, err)
	}
}

// Pinned memory belongs to somebody as device memory does.
func TestHostOwnership(t *testing.T) {
	r := newRig(t, 0)
	a, b := r.user(r.devs[0], "A"), r.user(r.devs[1], "B")
	h, err := NewHost[float64](a, 10)
	r.ok(err)
	if h.Len() != 10 || h.Bytes() != 80 || !h.Valid() {
		t.Errorf("%d elements, %d bytes", h.Len(), h.Bytes())
	}
	_, err = h.Slice(b)
	r.ownership(err, "B", `"A" owns it`)
	r.ownership(h.Release(b), "B", `"A" owns it`)
	r.ownership(h.ReleaseHere(), "an ordinary goroutine", `"A" owns it`)
	r.ok(a.give(h.Handle))
	r.ok(b.take(h.Handle)) // on another device: pinned memory is everybody's
	if h.State() != Exclusive {
		t.Errorf("on another device: %v", h.State())
	}
	_, err = h.Slice(b)
	r.ok(err)
	r.ok(h.Release(b))
	r.ownership(h.Release(b), "B", "released")
	if h.Len() != 0 {
		t.Error("released, and of some length")
	}
	none, err := NewHost[uint32](a, 0)
	r.ok(err)
	if s, err := none.Slice(a); len(s) != 0 || err != nil {
		t.Errorf("of no elements: %v, %v", s, err)
	}
	for n, want := range map[int]error{-1: cudart.ErrInvalidValue, 1 << 44: cudart.ErrOutOfMemory, device.MaxAlloc: cudart.ErrOutOfMemory} {
		if _, err := NewHost[uint64](a, n); !errors.Is(err, want) {
			t.Errorf("of %d elements: %v", n, err)
		}
	}
}

// watching is a runtime that wants to know what the CPU touches.
type watching struct {
	cudart.Runtime
	told []string
}

func (w *watching) HostAccess(_ unsafe.Pointer, bytes uint64, write bool) {
	w.told = append(w.told, fmt.Sprint(bytes, write))
}

// TestASliceIsTold: a runtime that wants to know is told when the CPU is given pinned
// memory, which it may write.
func TestASliceIsTold(t *testing.T) {
	w := &watching{Runtime: sim.New(sim.Config{})}
	devs, err := device.Open(w, device.Options{Max: 1})
	if err != nil {
		t.Fatal(err)
	}
	h, err := HostOn[uint32](devs[0], 5)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.SliceCtx(t.Context()); err != nil {
		t.Error(err)
	}
	if len(w.told) != 1 || w.told[0] != "20 true" {
		t.Errorf("told %q", w.told)
	}
	if err := errors.Join(h.ReleaseHere(), devs[0].Close(), w.Close()); err != nil {
		t.Error(err)
	}
}
