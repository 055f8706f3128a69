package transfer

import (
	"context"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
	"github.com/gpuactor/gpuactor/device"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
)

var mod = device.NewModule(cudarttest.Kernels)
var fill32 = mod.Kernel("fill32", device.Out[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())

func TestSmoke(t *testing.T) {
	rt := sim.New(sim.Config{})
	defer rt.Close()
	sys, err := actor.NewSystem(actor.WithOpenRuntime(rt))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	items := actor.NewChan[buffer.Buf[uint32]](8)
	g := sys.Group(ctx)
	const n = 1000
	g.Go("producer", sys.Device(0), func(s *actor.Stream) error {
		defer items.Close()
		for i := range 100 {
			b, err := buffer.New[uint32](s, n)
			if err != nil {
				return err
			}
			if err := s.Launch(fill32, device.Linear(n), b.Out(), device.U32(uint32(i)), device.U32(n)); err != nil {
				return err
			}
			if err := items.Send(s, b); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go("consumer", sys.Device(1), func(s *actor.Stream) error {
		i := uint32(0)
		for far, err := range items.All(s) {
			if err != nil {
				return err
			}
			b, err := Pull(s, far)
			if err != nil {
				return err
			}
			got, err := ToSlice(s, b)
			if err != nil {
				return err
			}
			for _, v := range got {
				if v != i {
					t.Errorf("item %d holds %d", i, v)
					break
				}
			}
			i++
			if err := b.Release(s); err != nil {
				return err
			}
		}
		if i != 100 {
			t.Errorf("%d items", i)
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v %+v", sys.Counts(), sys.Device(0).Memory())
	if err := sys.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if buffer.Live() != 0 {
		t.Errorf("%d buffers live", buffer.Live())
	}
}
var _ = cudart.In
