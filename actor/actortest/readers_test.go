package actortest_test

import (
	"fmt"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/actor/actortest"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/device"
)

var copy32 = module.Kernel("copy32", device.Out[uint32](), device.In[uint32](), device.Scalar[uint32]())

// readers has a writer write a buffer, two readers read it one after the other, and the
// writer write it again when it has come back, as often as rounds says.
func readers(t testing.TB, sys *actor.System) {
	const rounds = 2
	first, second, home := actor.NewChan[Buf](1), actor.NewChan[Buf](1), actor.NewChan[Buf](1)
	g := sys.Group(t.Context())
	g.Go("writer", sys.Device(0), func(s *actor.Stream) error {
		defer first.Close()
		b, err := buffer.New[uint32](s, words)
		if err != nil {
			return err
		}
		for i := range uint32(rounds) {
			if err := s.Launch(fill32, device.Linear(words), b.Out(), device.U32(100+i), device.U32(words)); err != nil {
				return err
			}
			if err := first.Send(s, b); err != nil {
				return err
			}
			if b, err = home.Recv(s); err != nil {
				return err
			}
		}
		if err := s.Launch(fill32, device.Linear(words), b.Out(), device.U32(1), device.U32(words)); err != nil {
			return err
		}
		return b.Release(s)
	})
	reader := func(in, out *actor.Chan[Buf], close bool) func(*actor.Stream) error {
		return func(s *actor.Stream) error {
			if close {
				defer out.Close()
			}
			var read []Buf
			for b, err := range in.All(s) {
				if err != nil {
					return err
				}
				mine, err := buffer.New[uint32](s, words)
				if err != nil {
					return err
				}
				if err := s.Launch(copy32, device.Linear(words), mine.Out(), b.In(), device.U32(words)); err != nil {
					return err
				}
				if err := out.Send(s, b); err != nil {
					return err
				}
				read = append(read, mine)
			}
			for i, b := range read {
				if err := holds(s, b, 100+uint32(i)); err != nil {
					return fmt.Errorf("round %d: %w", i, err)
				}
			}
			return nil
		}
	}
	g.Go("reader-1", sys.Device(0), reader(first, second, true))
	g.Go("reader-2", sys.Device(0), reader(second, home, false))
	ok(t, g.Wait())
}

// The reader finishes late, and the writer writes again.
func TestO2_TheNextWriterWaitsForEveryReader(t *testing.T) {
	n := 10000
	if testing.Short() || race {
		n = 500
	}
	actortest.Seeds(t, n, readers)
}

// Without the waits some seed has the writer write before a reader has read.
func TestO2_WithoutTheWaits(t *testing.T) {
	for seed := range uint64(50) {
		if o := (actortest.Config{Around: withoutWaits}).Try(t, seed, readers); o.Failed() {
			return
		}
	}
	t.Error("no seed of 50 shows it")
}
