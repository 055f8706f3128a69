package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/device"
	"github.com/gpuactor/gpuactor/transfer"
)

// pipeline sends n buffers, each filled by a kernel, from one actor to another,
// which brings them to its device, changes and releases them, and checks the last
// one: a fast wrong answer fails. begin is called when the first warm items have
// gone through.
func pipeline(sys *actor.System, from, to actor.Placement, bound, n int, begin func()) error {
	items := actor.NewChan[buffer.Buf[uint32]](bound)
	g := sys.Group(context.Background())
	g.Go("producer", from, func(s *actor.Stream) error {
		defer items.Close()
		for i := range n {
			b, err := buffer.New[uint32](s, itemLen)
			if err != nil {
				return err
			}
			if err := s.Launch(fill32, device.Linear(itemLen), b.Out(), device.U32(uint32(i)), device.U32(itemLen)); err != nil {
				return err
			}
			if err := items.Send(s, b); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go("consumer", to, func(s *actor.Stream) error {
		got := 0
		for far, err := range items.All(s) {
			if err != nil {
				return err
			}
			if got++; got == min(warm, n) {
				begin()
			}
			b, err := transfer.Pull(s, far)
			if err != nil {
				return err
			}
			if err := s.Launch(add32, device.Linear(itemLen), b.InOut(), device.U32(1), device.U32(itemLen)); err != nil {
				return err
			}
			if got == n {
				if err := check(s, b, uint32(n)); err != nil {
					return err
				}
			}
			if err := b.Release(s); err != nil {
				return err
			}
		}
		if got != n {
			return fmt.Errorf("%d items arrived, %d were sent", got, n)
		}
		return s.Synchronize()
	})
	return g.Wait()
}

func check(s *actor.Stream, b buffer.Buf[uint32], want uint32) error {
	values, err := transfer.ToSlice(s, b)
	if err != nil {
		return err
	}
	for i, v := range values {
		if v != want {
			return fmt.Errorf("element %d is %d, want %d", i, v, want)
		}
	}
	return nil
}

func benchmarkPipeline(b *testing.B, sys *actor.System, from, to actor.Placement, bound int) {
	b.ReportAllocs()
	if err := pipeline(sys, from, to, bound, warm+b.N, b.ResetTimer); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkHandoff is an item of 4 KiB from one stream to another on a device:
// allocate, launch, send; receive, launch, release.
func BenchmarkHandoff(b *testing.B) {
	for _, bound := range []int{1, 8} {
		b.Run(fmt.Sprintf("threads/bound=%d", bound), func(b *testing.B) {
			sys := newSystem(b)
			benchmarkPipeline(b, sys, sys.Device(0), sys.Device(0), bound)
		})
		b.Run(fmt.Sprintf("colocated/bound=%d", bound), func(b *testing.B) {
			sys := newSystem(b)
			th, err := sys.NewThread(sys.Device(0))
			if err != nil {
				b.Fatal(err)
			}
			benchmarkPipeline(b, sys, actor.On(th), actor.On(th), bound)
		})
	}
}

// BenchmarkPull is the same to another device.
func BenchmarkPull(b *testing.B) {
	sys := newSystem(b, actor.WithVirtual(2))
	benchmarkPipeline(b, sys, sys.Device(0), sys.Device(1), 8)
}

// BenchmarkLaunch is a launch of a kernel with three arguments.
func BenchmarkLaunch(b *testing.B) {
	sys := newSystem(b)
	g := sys.Group(context.Background())
	g.Go("launcher", sys.Device(0), func(s *actor.Stream) error {
		buf, err := buffer.New[uint32](s, itemLen)
		if err != nil {
			return err
		}
		launch := func(n int) error {
			for i := range n {
				if err := s.Launch(fill32, device.Linear(itemLen), buf.Out(), device.U32(uint32(i)), device.U32(itemLen)); err != nil {
					return err
				}
				if i%256 == 255 {
					if err := s.Synchronize(); err != nil {
						return err
					}
				}
			}
			return s.Synchronize()
		}
		if err := launch(warm); err != nil {
			return err
		}
		b.ReportAllocs()
		b.ResetTimer()
		if err := launch(b.N); err != nil {
			return err
		}
		b.StopTimer()
		if err := check(s, buf, uint32(b.N-1)); err != nil {
			return err
		}
		return buf.Release(s)
	})
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAlloc is a buffer allocated and released again: no driver call.
func BenchmarkAlloc(b *testing.B) {
	sys := newSystem(b)
	g := sys.Group(context.Background())
	g.Go("allocator", sys.Device(0), func(s *actor.Stream) error {
		b.ReportAllocs()
		for b.Loop() {
			buf, err := buffer.New[uint32](s, itemLen)
			if err != nil {
				return err
			}
			if err := buf.Release(s); err != nil {
				return err
			}
		}
		if n := sys.Device(0).Memory().Allocs; n != 1 {
			return fmt.Errorf("the driver allocated %d times", n)
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
}
