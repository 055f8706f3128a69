package transfer_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	_ "github.com/gpuactor/gpuactor/cudart/sim"
	"github.com/gpuactor/gpuactor/device"
	"github.com/gpuactor/gpuactor/transfer"
)

// A program declares kernels of its own like this: see ExampleToSlice.
var (
	kernels = device.NewModule(cudarttest.Kernels)
	fill    = kernels.Kernel("fill32", device.Out[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())
	add     = kernels.Kernel("add32", device.InOut[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())
)

const n = 4

// open is a system on the simulator; a program that shall run on GPUs calls NewSystem
// without options, and imports cudart/nvidia.
func open() *actor.System {
	sys, err := actor.NewSystem(actor.WithRuntime("sim"))
	if err != nil {
		log.Fatal(err)
	}
	return sys
}

// Straight-line functions that hand buffers over through a channel.
func Example_channels() {
	ctx := context.Background()
	sys := open()
	defer sys.Close(ctx)
	items := actor.NewChan[buffer.Buf[uint32]](8)
	g := sys.Group(ctx)
	g.Go("producer", sys.Device(0), func(s *actor.Stream) error {
		defer items.Close()
		for i := range 3 {
			b, err := buffer.New[uint32](s, n)
			if err != nil {
				return err
			}
			if err := s.Launch(fill, device.Linear(n), b.Out(), device.U32(uint32(i)), device.U32(n)); err != nil {
				return err
			}
			if err := items.Send(s, b); err != nil { // b is no longer ours
				return err
			}
		}
		return nil
	})
	g.Go("consumer", sys.Device(0), func(s *actor.Stream) error {
		for b, err := range items.All(s) {
			if err != nil {
				return err
			}
			if err := s.Launch(add, device.Linear(n), b.InOut(), device.U32(10), device.U32(n)); err != nil {
				return err
			}
			values, err := transfer.ToSlice(s, b)
			if err != nil {
				return err
			}
			fmt.Println(values)
			if err := b.Release(s); err != nil {
				return err
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// [10 10 10 10]
	// [11 11 11 11]
	// [12 12 12 12]
}

// Handlers of messages, and a request whose answer is awaited.
func Example_messages() {
	type sum struct{ Of []uint32 }
	ctx := context.Background()
	sys := open()
	defer sys.Close(ctx)
	adder, err := sys.Spawn("adder", sys.Device(0), actor.PropsFromFunc(func(c actor.Context) {
		m, ok := c.Message().(sum)
		if !ok {
			return // Started, Stopping, ...
		}
		s := actor.StreamOf(c)
		b, err := transfer.FromSlice(s, m.Of)
		if err != nil {
			panic(err) // a failure: supervision decides, and the request is answered with it
		}
		defer b.Release(s)
		if err := s.Launch(add, device.Linear(len(m.Of)), b.InOut(), device.U32(1), device.U32(uint32(len(m.Of)))); err != nil {
			panic(err)
		}
		values, err := transfer.ToSlice(s, b)
		if err != nil {
			panic(err)
		}
		c.Respond(values)
	}))
	if err != nil {
		log.Fatal(err)
	}
	answer, err := sys.Request(ctx, adder.PID(), sum{[]uint32{1, 2, 3}})
	fmt.Println(answer, err)
	adder.Stop()
	<-adder.Done()
	_, err = sys.Request(ctx, adder.PID(), sum{})
	fmt.Println(err)
	// Output:
	// [2 3 4] <nil>
	// actor: adder has ended
}

// Ordinary goroutines have no stream: they pass pinned memory to an actor, and get it
// back through a channel that comes with the request.
func Example_goroutines() {
	type scaled struct{ X buffer.Host[uint32] }
	type scale struct {
		Plus uint32
		X    buffer.Host[uint32]
		Back *actor.Chan[scaled]
	}
	ctx := context.Background()
	sys := open()
	defer sys.Close(ctx)
	work := actor.NewChan[scale](8)
	g := sys.Group(ctx)
	g.Go("worker", sys.Device(0), func(s *actor.Stream) error {
		for w, err := range work.All(s) {
			if err != nil {
				return err
			}
			b, err := buffer.New[uint32](s, w.X.Len())
			if err != nil {
				return err
			}
			if err := transfer.Upload(s, b, w.X); err != nil {
				return err
			}
			if err := s.Launch(add, device.Linear(b.Len()), b.InOut(), device.U32(w.Plus), device.U32(uint32(b.Len()))); err != nil {
				return err
			}
			if err := transfer.Download(s, w.X, b); err != nil {
				return err
			}
			if err := b.Release(s); err != nil {
				return err
			}
			if err := w.Back.Send(s, scaled{w.X}); err != nil { // nobody waits for the GPU here
				return err
			}
		}
		return nil
	})

	x, err := buffer.HostOn[uint32](sys.Device(0), 3)
	if err != nil {
		log.Fatal(err)
	}
	values, err := x.SliceCtx(ctx)
	if err != nil {
		log.Fatal(err)
	}
	copy(values, []uint32{1, 2, 3})
	back := actor.NewChan[scaled](1)
	if err := work.SendCtx(ctx, scale{Plus: 5, X: x, Back: back}); err != nil {
		log.Fatal(err)
	}
	done, err := back.RecvCtx(ctx)
	if err != nil {
		log.Fatal(err)
	}
	values, err = done.X.SliceCtx(ctx) // waits for the download
	fmt.Println(values, err)
	if err := done.X.ReleaseHere(); err != nil {
		log.Fatal(err)
	}
	work.Close()
	if err := g.Wait(); err != nil {
		log.Fatal(err)
	}
	// Output: [6 7 8] <nil>
}

// Actors on one thread hand over by a switch of coroutines, where two threads would
// wake each other.
func Example_coLocated() {
	ctx := context.Background()
	sys := open()
	defer sys.Close(ctx)
	thread, err := sys.NewThread(sys.Device(0))
	if err != nil {
		log.Fatal(err)
	}
	ping, pong := actor.NewChan[int](1), actor.NewChan[int](1)
	g := sys.Group(ctx)
	g.Go("ping", actor.On(thread), func(s *actor.Stream) error {
		defer ping.Close()
		for i := range 3 {
			if err := ping.Send(s, i); err != nil {
				return err
			}
			back, err := pong.Recv(s)
			if err != nil {
				return err
			}
			fmt.Println(i, back)
		}
		return nil
	})
	g.Go("pong", actor.On(thread), func(s *actor.Stream) error {
		for i, err := range ping.All(s) {
			if err != nil {
				return err
			}
			if err := pong.Send(s, -i); err != nil {
				return err
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 0 0
	// 1 -1
	// 2 -2
}
