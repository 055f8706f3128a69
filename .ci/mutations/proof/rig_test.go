// Package proof is programs whose outcome shows what a missing protection does: each is
// right with all protections in place, and wrong for some seed of the simulator's
// chaos clock, or reported by the race checker, or no longer refused, without one of them.
package proof

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	"github.com/gpuactor/gpuactor/device"
	"github.com/gpuactor/gpuactor/transfer"
)

type (
	buf  = buffer.Buf[uint32]
	host = buffer.Host[uint32]
)

const n = 256 // elements of most buffers

var (
	module = device.NewModule(cudarttest.Kernels)
	fill32 = module.Kernel("fill32", device.Out[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())
	add32  = module.Kernel("add32", device.InOut[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())
	copy32 = module.Kernel("copy32", device.Out[uint32](), device.In[uint32](), device.Scalar[uint32]())
)

func fill(s *actor.Stream, b buf, v uint32) error {
	return s.Launch(fill32, device.Linear(b.Len()), b.Out(), device.U32(v), device.U32(uint32(b.Len())))
}

func add(s *actor.Stream, b buf, v uint32) error {
	return s.Launch(add32, device.Linear(b.Len()), b.InOut(), device.U32(v), device.U32(uint32(b.Len())))
}

func duplicate(s *actor.Stream, to, from buf) error {
	return s.Launch(copy32, device.Linear(to.Len()), to.Out(), from.In(), device.U32(uint32(to.Len())))
}

// filled is a new buffer of v.
func filled(s *actor.Stream, v uint32) (buf, error) {
	b, err := buffer.New[uint32](s, n)
	if err != nil {
		return b, err
	}
	return b, fill(s, b, v)
}

// holds downloads a buffer, and says what is wrong with its elements.
func holds(s *actor.Stream, b buf, want uint32) error {
	h, err := buffer.NewHost[uint32](s, b.Len())
	if err != nil {
		return err
	}
	if err := transfer.Download(s, h, b); err != nil {
		return err
	}
	words, err := h.Slice(s)
	if err != nil {
		return err
	}
	if err := all(words, want); err != nil {
		return err
	}
	return h.Release(s)
}

// errBytes is what a wrong byte is: found by the clock of chaos.
var errBytes = errors.New("wrong bytes")

func all(words []uint32, want uint32) error {
	for i, w := range words {
		if w != want {
			return fmt.Errorf("%w: element %d is %#x, and must be %#x", errBytes, i, w, want)
		}
	}
	return nil
}

// refused states that err is of type E: the check is there.
func refused[E error](err error, what string) error {
	var e E
	if errors.As(err, &e) {
		return nil
	}
	return fmt.Errorf("%w: %s: %v", errNotRefused, what, err)
}

var errNotRefused = errors.New("not refused")

// outcome is what a run found.
func outcome(err error) string {
	switch {
	case errors.Is(err, errBytes):
		return "chaos: " + err.Error()
	case errors.Is(err, errNotRefused):
		return "no refusal: " + err.Error()
	}
	return "error: " + err.Error()
}

// two runs two actors, and is the first error.
func two(sys *actor.System, at [2]int, first, second func(*actor.Stream) error) error {
	g := sys.Group(context.Background())
	g.Go("first", sys.Device(at[0]), first)
	g.Go("second", sys.Device(at[1]), second)
	return g.Wait()
}
