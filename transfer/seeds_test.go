package transfer

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/actor/actortest"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
)

// few is the length of buffers in tests with many seeds.
const few = 64

// seeds is how many a test runs: fewer with -short, and with the race detector.
func seeds(n int) int {
	if testing.Short() || raceEnabled {
		n /= 10
	}
	return n
}

// pullPipeline has device 0 fill buffers, and device 1 pull, change and read them. Both
// use their memory again and again.
func pullPipeline(t testing.TB, sys *actor.System) {
	const items = 3
	ch := actor.NewChan[Buf](2)
	g := sys.Group(t.Context())
	g.Go("producer", sys.Device(0), func(s *actor.Stream) error {
		defer ch.Close()
		for i := range uint32(items) {
			b, err := buffer.New[uint32](s, few)
			if err != nil {
				return err
			}
			if err := fill(s, b, i+1); err != nil {
				return err
			}
			if err := ch.Send(s, b); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go("consumer", sys.Device(1), func(s *actor.Stream) error {
		want := uint32(1)
		for far, err := range ch.All(s) {
			if err != nil {
				return err
			}
			b, err := Pull(s, far)
			if err != nil {
				return err
			}
			mine, err := buffer.New[uint32](s, few)
			if err != nil {
				return err
			}
			if err := duplicate(s, mine, b); err != nil {
				return err
			}
			if err := b.Release(s); err != nil {
				return err
			}
			if err := all(s, mine, want); err != nil {
				return err
			}
			want++
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// all is an error where not every word of b is v; b is released.
func all(s *actor.Stream, b Buf, v uint32) error {
	got, err := ToSlice(s, b)
	if err := errors.Join(err, b.Release(s)); err != nil {
		return err
	}
	for i, w := range got {
		if w != v {
			return fmt.Errorf("word %d is %d, want %d", i, w, v)
		}
	}
	return nil
}

// copies uploads and downloads, several times, on two devices.
func copies(t testing.TB, sys *actor.System) {
	g := sys.Group(t.Context())
	for d := range 2 {
		g.Go(fmt.Sprintf("copier-%d", d), sys.Device(d), func(s *actor.Stream) error {
			mem := make([]uint32, few)
			for i := range uint32(3) {
				for k := range mem {
					mem[k] = i
				}
				b, err := FromSlice(s, mem)
				if err != nil {
					return err
				}
				if err := all(s, b, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

// memoryForMany has several actors want more device memory than there is at once.
func memoryForMany(t testing.TB, sys *actor.System) {
	g := sys.Group(t.Context())
	for k := range uint32(3) {
		g.Go(fmt.Sprintf("user-%d", k), sys.Device(0), func(s *actor.Stream) error {
			for i := range uint32(2) {
				b, err := buffer.New[uint32](s, 1<<10)
				if err != nil {
					return err
				}
				if err := fill(s, b, 10*k+i); err != nil {
					return err
				}
				if err := all(s, b, 10*k+i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

func TestTransfersInManyOrders(t *testing.T) {
	for _, c := range []struct {
		name string
		f    actortest.Func
		opts []actor.Option
	}{
		{"pull", pullPipeline, nil},
		{"upload and download", copies, nil},
		{"memory for many", memoryForMany, []actor.Option{actor.WithBudget(1 << 12)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := buffer.Live()
			actortest.Config{Options: c.opts}.Seeds(t, seeds(1000), c.f)
			if n := buffer.Live(); n != before {
				t.Errorf("%d buffers are live, there were %d", n, before)
			}
			for seed := range uint64(10) {
				a, b := actortest.Config{Options: c.opts}.Try(t, seed, c.f), actortest.Config{Options: c.opts}.Try(t, seed, c.f)
				if a.Hash != b.Hash {
					t.Errorf("seed %d is two orders", seed)
				}
			}
		})
	}
}

// cut is a runtime without the waits of one device's streams.
type cut struct {
	cudart.Runtime
	without cudart.Runtime
	device  int
	ctx     cudart.Context
}

func cutWaitsOf(device int) func(cudart.Runtime) cudart.Runtime {
	return func(rt cudart.Runtime) cudart.Runtime {
		return &cut{Runtime: rt, device: device, without: cudarttest.Without(rt, func(c cudart.Command) bool { return c.Op == cudart.OpWait })}
	}
}

func (c *cut) RetainPrimary(ordinal int) (cudart.Context, error) {
	ctx, err := c.Runtime.RetainPrimary(ordinal)
	if ordinal == c.device {
		c.ctx = ctx
	}
	return ctx, err
}

func (c *cut) Submit(ctx cudart.Context, s cudart.Stream, l *cudart.List) (int, error) {
	if ctx == c.ctx {
		return c.without.Submit(ctx, s, l)
	}
	return c.Runtime.Submit(ctx, s, l)
}

// In pullPipeline the streams of device 0 wait before a copy (edges 1 and 2), those of
// device 1 behind it (edge 3). Without either, wrong bytes are seen, and again with
// the same seed.
func TestAPullWithoutItsWaits(t *testing.T) {
	for d, edge := range []string{"before the copy", "behind the copy"} {
		t.Run(edge, func(t *testing.T) {
			c := actortest.Config{Around: cutWaitsOf(d)}
			for seed := range uint64(100) {
				o := c.Try(t, seed, pullPipeline)
				if !o.Failed() {
					continue
				}
				if !strings.Contains(o.String(), "word ") {
					t.Fatalf("something else went wrong: %v", o)
				}
				if again := c.Try(t, seed, pullPipeline); again.String() != o.String() || again.Hash != o.Hash {
					t.Fatalf("%v\nand then %v", o, again)
				}
				t.Logf("found by seed %d", seed)
				return
			}
			t.Error("no seed of 100 shows it")
		})
	}
}
