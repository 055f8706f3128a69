package actor

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	"github.com/gpuactor/gpuactor/device"
)

var (
	module = device.NewModule(cudarttest.Kernels)
	fill32 = module.Kernel("fill32", device.Out[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())
	add32  = module.Kernel("add32", device.InOut[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())
	gate32 = module.Kernel("gate", device.In[uint32](), device.Scalar[uint64]())
)

// Buf and Host are what the tests send.
type (
	Buf  = buffer.Buf[uint32]
	Host = buffer.Host[uint32]
)

// words is the length of most buffers in the tests.
const words = 256

// filled is a new buffer of s whose every word a kernel makes v.
func filled(s *Stream, v uint32) (Buf, error) {
	b, err := buffer.New[uint32](s, words)
	if err != nil {
		return b, err
	}
	return b, fill(s, b, v)
}

func fill(s *Stream, b Buf, v uint32) error {
	return s.Launch(fill32, device.Linear(words), b.Out(), device.U32(v), device.U32(words))
}

func add(s *Stream, b Buf, v uint32) error {
	return s.Launch(add32, device.Linear(words), b.InOut(), device.U32(v), device.U32(words))
}

// fetch issues a copy of a buffer into pinned memory.
func fetch(s *Stream, h Host, b Buf) error {
	o, err := s.Owner()
	if err != nil {
		return err
	}
	from, bytes, err := b.Use(o, cudart.In)
	if err != nil {
		return err
	}
	to, _, err := h.Copying(o, cudart.Out)
	if err != nil {
		return err
	}
	w, gen := h.Written()
	if err := o.Stream.Download(to, from, bytes, w, gen); err != nil {
		return err
	}
	h.Copied(o)
	return nil
}

// holds reads a buffer, releases it, and checks that every word is v.
func holds(s *Stream, b Buf, v uint32) error {
	h, err := buffer.NewHost[uint32](s, words)
	if err != nil {
		return err
	}
	if err := fetch(s, h, b); err != nil {
		return err
	}
	if err := b.Release(s); err != nil {
		return err
	}
	got, err := h.Slice(s)
	if err != nil {
		return err
	}
	for i, w := range got {
		if w != v {
			return fmt.Errorf("word %d is %d, want %d", i, w, v)
		}
	}
	return h.Release(s)
}

// gate holds streams: what they are given behind it runs when it is open. One that
// is forgotten opens by itself, so that a test fails and does not hang.
type gate struct {
	flag *uint32
	mem  Host
}

// newGate makes one in pinned memory of s's, which is reclaimed with its actor: that
// one must not end before the gate is open.
func newGate(s *Stream) (*gate, error) {
	h, err := buffer.NewHost[uint32](s, 1)
	if err != nil {
		return nil, err
	}
	w, err := h.Slice(s)
	if err != nil {
		return nil, err
	}
	w[0] = 0
	return &gate{&w[0], h}, nil
}

// hold closes the gate in the stream of its maker, behind what that was given.
func (g *gate) hold(s *Stream) error {
	o, err := s.Owner()
	if err != nil {
		return err
	}
	flag := Buf{Handle: g.mem.Handle}
	if err := s.Launch(gate32, device.Blocks(1, 1), flag.In(), device.U64(uint64(longest))); err != nil {
		return err
	}
	g.mem.Copied(o) // the flag is used until the gate is open
	return s.Submit()
}

func (g *gate) open() { atomic.StoreUint32(g.flag, 1) }

// start starts an actor that must start.
func start(t testing.TB, sys *System, name string, at Placement, fn func(*Stream) error, opts ...SpawnOption) *Ref {
	t.Helper()
	ref, err := sys.Go(name, at, fn, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// spawn starts an actor in message style that must start.
func spawn(t testing.TB, sys *System, name string, at Placement, receive func(Context), opts ...SpawnOption) *Ref {
	t.Helper()
	ref, err := sys.Spawn(name, at, PropsFromFunc(receive), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// finish waits for actors to end, and wants none of them to have failed.
func finish(t testing.TB, refs ...*Ref) {
	t.Helper()
	for _, r := range refs {
		if err := r.Wait(soon(t)); err != nil {
			t.Errorf("%s: %v", r.Name(), err)
		}
	}
}

// await waits for a signal.
func await[T any](t testing.TB, what string, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(longest):
		t.Fatalf("never: %s", what)
	}
	return v
}

// until asks again and again.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(longest); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// sharedThread is a thread for several actors of device 0.
func sharedThread(t testing.TB, sys *System) *Thread {
	t.Helper()
	th, err := sys.NewThread(sys.Device(0))
	if err != nil {
		t.Fatal(err)
	}
	return th
}
