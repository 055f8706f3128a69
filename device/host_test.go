package device

import (
	"errors"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

// I5: pinned memory is not handed out again before its last use is known complete,
// not even to the one who released it: the next to touch it is the CPU.
func TestI5_PinnedMemoryIsNotReusedBeforeItsCopyIsDone(t *testing.T) {
	r := newRig(t, 0)
	s, g := r.stream(r.devs[0], "s"), r.gate()
	d := r.devs[0]
	h, err := d.AllocHost(4096, d)
	r.ok(err)
	dst := wordsOf(r.alloc(s, 4096))
	g.hold(s)
	r.ok(s.Launch(1, copy32, Linear(1024), dst.arg(cudart.Out), (&words{ptr: cudart.DevicePtr(uintptr(h.ptr)), n: 1024}).arg(cudart.In), U32(1024)))
	h.Release(s.Next())

	take := func() *HostBlock {
		t.Helper()
		b, err := d.AllocHost(4000, d)
		r.ok(err)
		return b
	}
	first := take() // its copy is not submitted
	r.flush(s)
	second := take() // it is not complete
	if first == h || second == h {
		t.Fatal("the memory is in use")
	}
	g.open()
	r.sync(s)
	held := d.HostBytes()
	if take() != h {
		t.Error("the memory is free and was not taken")
	}
	if d.HostBytes() != held {
		t.Error("more memory was pinned")
	}
}

// Pinned memory comes back from anywhere: released at a point of another device's
// stream, taken on a thread without a context, first released first.
func TestPinnedMemoryFromElsewhere(t *testing.T) {
	r := newRig(t, 0)
	far := r.stream(r.devs[1], "far")
	d := r.devs[0]
	var blocks []*HostBlock
	for range 3 {
		b, err := d.AllocHost(100, r.cur)
		r.ok(err)
		blocks = append(blocks, b)
	}
	r.fill(far, wordsOf(r.alloc(far, 512)), 1)
	blocks[0].Release(far.Next())
	_, err := far.Flush(false) // nobody has recorded anything
	r.ok(err)
	blocks[1].Release(Point{})
	r.ok(r.rt.SynchronizeContext(far.d.ctx))
	result := make(chan *HostBlock)
	go func() {
		for range 2 {
			b, err := d.AllocHost(1, nil)
			if err != nil {
				t.Error(err)
			}
			result <- b
		}
	}()
	if a, b := <-result, <-result; a != blocks[0] || b != blocks[1] {
		t.Error("not the blocks that were released")
	}
	if blocks[0].Device() != d {
		t.Error("whose pool?")
	}
	if _, err := d.AllocHost(MaxAlloc+1, nil); !errors.Is(err, cudart.ErrOutOfMemory) {
		t.Errorf("more than any machine has: %v", err)
	}
}
