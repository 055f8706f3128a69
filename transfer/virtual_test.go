package transfer_test

import (
	"context"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart/sim"
	"github.com/gpuactor/gpuactor/transfer"
)

// A system of actors runs on a machine in virtual time: what it computes is right, whatever
// its threads' order does to the times.
func TestActorsRunInVirtualTime(t *testing.T) {
	rt := sim.New(sim.Config{Clock: sim.Virtual(), Topology: sim.Preset("pcie-2")})
	defer rt.Close()
	sys, err := actor.NewSystem(actor.WithOpenRuntime(rt))
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close(context.Background())
	items := actor.NewChan[buffer.Buf[uint32]](4)
	g := sys.Group(t.Context())
	const n = 100
	g.Go("from", sys.Device(1), func(s *actor.Stream) error {
		defer items.Close()
		for i := range n {
			b, err := transfer.FromSlice(s, []uint32{uint32(i), 1})
			if err != nil {
				return err
			}
			if err := items.Send(s, b); err != nil {
				return err
			}
		}
		return nil
	})
	got := 0
	g.Go("to", sys.Device(0), func(s *actor.Stream) error {
		for far, err := range items.All(s) {
			if err != nil {
				return err
			}
			b, err := transfer.Pull(s, far)
			if err != nil {
				return err
			}
			v, err := transfer.ToSlice(s, b)
			if err != nil {
				return err
			}
			if v[0] != uint32(got) {
				t.Errorf("item %d is %v", got, v)
			}
			got++
			if err := b.Release(s); err != nil {
				return err
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if got != n || rt.Now() == 0 {
		t.Errorf("%d of %d items, at %v", got, n, rt.Now())
	}
	t.Logf("%d items in %v of virtual time", n, rt.Now())
}
