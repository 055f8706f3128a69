package actortest_test

import (
	"context"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/actor/actortest"
	"github.com/gpuactor/gpuactor/buffer"
)

// pipeline hands items of three stages on, on one device.
func pipeline(ctx context.Context, sys *actor.System) error {
	const items = 4
	a, b := actor.NewChan[Buf](1), actor.NewChan[Buf](2)
	g := sys.Group(ctx)
	g.Go("producer", sys.Device(0), func(s *actor.Stream) error {
		defer a.Close()
		for i := range uint32(items) {
			x, err := filled(s, i)
			if err != nil {
				return err
			}
			if err := a.Send(s, x); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go("adder", sys.Device(0), func(s *actor.Stream) error {
		defer b.Close()
		for x, err := range a.All(s) {
			if err != nil {
				return err
			}
			if err := add(s, x, 10); err != nil {
				return err
			}
			if err := b.Send(s, x); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go("consumer", sys.Device(0), func(s *actor.Stream) error {
		i := uint32(0)
		for x, err := range b.All(s) {
			if err != nil {
				return err
			}
			if err := holds(s, x, 10+i); err != nil {
				return err
			}
			i++
		}
		return nil
	})
	return g.Wait()
}

func TestHandOffs(t *testing.T) {
	before := buffer.Live()
	actortest.Seeds(t, seeds(1000), func(t testing.TB, sys *actor.System) {
		if err := pipeline(t.Context(), sys); err != nil {
			t.Error(err)
		}
	})
	if n := buffer.Live(); n != before {
		t.Errorf("%d buffers are live, there were %d", n, before)
	}
}
