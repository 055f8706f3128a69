package actortest_test

import (
	"fmt"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	"github.com/gpuactor/gpuactor/device"
)

var (
	module = device.NewModule(cudarttest.Kernels)
	fill32 = module.Kernel("fill32", device.Out[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())
	add32  = module.Kernel("add32", device.InOut[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())
)

// Buf is what the tests send.
type Buf = buffer.Buf[uint32]

const words = 64

// filled is a new buffer of s whose every word a kernel makes v.
func filled(s *actor.Stream, v uint32) (Buf, error) {
	b, err := buffer.New[uint32](s, words)
	if err != nil {
		return b, err
	}
	return b, s.Launch(fill32, device.Linear(words), b.Out(), device.U32(v), device.U32(words))
}

func add(s *actor.Stream, b Buf, v uint32) error {
	return s.Launch(add32, device.Linear(words), b.InOut(), device.U32(v), device.U32(words))
}

// holds reads a buffer, releases it, and checks that every word is v.
func holds(s *actor.Stream, b Buf, v uint32) error {
	h, err := buffer.NewHost[uint32](s, words)
	if err != nil {
		return err
	}
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

// seeds is how many a test runs: fewer with -short, and with the race detector.
func seeds(n int) int {
	if testing.Short() {
		n /= 10
	}
	if race {
		n /= 10
	}
	return max(n, 10)
}
