package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/bench/null"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	"github.com/gpuactor/gpuactor/device"
	"github.com/gpuactor/gpuactor/transfer"
)

// onEach runs a benchmark on the runtime under test and on the null runtime, which
// shows what is the library's own. The number of calls of the driver for each
// operation is reported with both.
func onEach(b *testing.B, f func(b *testing.B, sys *actor.System, count *cudarttest.Counter), opts ...actor.Option) {
	open := func(b *testing.B) cudart.Runtime {
		rt, err := cudart.Open(cudart.Options{Name: runtimeName()})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := rt.Close(); err != nil {
				b.Error(err)
			}
		})
		return rt
	}
	run := func(b *testing.B, rt cudart.Runtime) {
		count := cudarttest.Counting(rt)
		f(b, newSystem(b, append(opts, actor.WithOpenRuntime(count))...), count)
	}
	b.Run("device", func(b *testing.B) { run(b, open(b)) })
	b.Run("null", func(b *testing.B) { run(b, null.New(2)) })
}

// reportCalls reports what the driver was called for each of n operations.
func reportCalls(b *testing.B, c calls, n int) {
	b.ReportMetric(float64(c.crossings)/float64(n), "crossings/op")
	b.ReportMetric(float64(c.records)/float64(n), "records/op")
	b.ReportMetric(float64(c.waits)/float64(n), "waits/op")
}

// BenchmarkHandoff is an item of 4 KiB from one stream to another on a device.
func BenchmarkHandoff(b *testing.B) {
	for _, c := range []struct {
		name string
		p    Pipeline
	}{
		{"back/1", Pipeline{Depth: 1}},
		{"back/8", Pipeline{Depth: 8}},
		{"alloc/8", Pipeline{Depth: 8, Alloc: true}},
	} {
		for _, colocated := range []bool{false, true} {
			name := "threads/" + c.name
			if colocated {
				name = "colocated/" + c.name
			}
			b.Run(name, func(b *testing.B) {
				onEach(b, func(b *testing.B, sys *actor.System, count *cudarttest.Counter) {
					p := c.p
					p.Bytes, p.Warm, p.Items = 4*KiB, warm, b.N
					p.From, p.To = sys.Device(0), sys.Device(0)
					if colocated {
						th, err := sys.NewThread(sys.Device(0))
						if err != nil {
							b.Fatal(err)
						}
						p.From, p.To = actor.On(th), actor.On(th)
					}
					var before calls
					p.Begin = func() {
						b.ReportAllocs()
						before = callsOf(count)
						b.ResetTimer()
					}
					p.End = func() {
						b.StopTimer()
						reportCalls(b, callsOf(count).since(before), b.N)
					}
					if err := p.Run(sys.Group(context.Background())); err != nil {
						b.Fatal(err)
					}
				})
			})
		}
	}
}

// BenchmarkPull is an item of 4 KiB that is brought to another device.
func BenchmarkPull(b *testing.B) {
	onEach(b, func(b *testing.B, sys *actor.System, count *cudarttest.Counter) {
		items := actor.NewChan[buffer.Buf[uint32]](8)
		g := sys.Group(context.Background())
		g.Go("producer", sys.Device(0), func(s *actor.Stream) error {
			defer items.Close()
			for i := range warm + b.N {
				x, err := buffer.New[uint32](s, itemLen)
				if err != nil {
					return err
				}
				if err := s.Launch(fill32, device.Linear(itemLen), x.Out(), device.U32(uint32(i)), device.U32(itemLen)); err != nil {
					return err
				}
				if err := items.Send(s, x); err != nil {
					return err
				}
			}
			return nil
		})
		g.Go("consumer", sys.Device(1), func(s *actor.Stream) error {
			for i := range warm + b.N {
				if i == warm {
					b.ReportAllocs()
					b.ResetTimer()
				}
				far, err := items.Recv(s)
				if err != nil {
					return err
				}
				near, err := transfer.Pull(s, far)
				if err != nil {
					return err
				}
				if i == warm+b.N-1 {
					b.StopTimer()
					if err := checkWords(s, near, uint32(i)); err != nil {
						return err
					}
				}
				if err := near.Release(s); err != nil {
					return err
				}
			}
			return nil
		})
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
	}, actor.WithVirtual(2))
}

// BenchmarkLaunch is a launch of a kernel with three arguments.
func BenchmarkLaunch(b *testing.B) {
	onEach(b, func(b *testing.B, sys *actor.System, count *cudarttest.Counter) {
		g := sys.Group(context.Background())
		g.Go("launcher", sys.Device(0), func(s *actor.Stream) error {
			buf, err := zeroed(s)
			if err != nil {
				return err
			}
			if err := s.Synchronize(); err != nil {
				return err
			}
			b.ReportAllocs()
			before := callsOf(count)
			b.ResetTimer()
			for i := range b.N {
				if err := add1(s, buf); err != nil {
					return err
				}
				if i%256 == 255 {
					if err := s.Synchronize(); err != nil {
						return err
					}
				}
			}
			if err := s.Synchronize(); err != nil {
				return err
			}
			b.StopTimer()
			reportCalls(b, callsOf(count).since(before), b.N)
			if err := checkWords(s, buf, uint32(b.N)); err != nil {
				return err
			}
			return buf.Release(s)
		})
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkAlloc is a buffer allocated and released again: no driver call, once there is
// one to take again.
func BenchmarkAlloc(b *testing.B) {
	onEach(b, func(b *testing.B, sys *actor.System, count *cudarttest.Counter) {
		g := sys.Group(context.Background())
		g.Go("allocator", sys.Device(0), func(s *actor.Stream) error {
			if err := allocPair(s); err != nil {
				return err
			}
			b.ReportAllocs()
			before := count.Calls()
			for b.Loop() {
				if err := allocPair(s); err != nil {
					return err
				}
			}
			if n := count.Calls() - before; n != 0 {
				return fmt.Errorf("the driver was called %d times", n)
			}
			return nil
		})
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
	})
}
