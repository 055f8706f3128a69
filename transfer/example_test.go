package transfer_test

import (
	"context"
	"fmt"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
	"github.com/gpuactor/gpuactor/device"
	"github.com/gpuactor/gpuactor/transfer"
)

// A kernel in both of its forms, under one name: PTX for a GPU, Go for the simulator.
var squares = cudart.Image{
	Name: "squares",
	PTX: `.version 6.0
.target sm_50
.address_size 64
.visible .entry square(.param .u64 square_out, .param .u64 square_in, .param .u32 square_n)
{
	.reg .pred %done;
	.reg .b32 %i, %n, %block, %size;
	.reg .f32 %v;
	.reg .b64 %out, %in, %off;

	ld.param.u64 %out, [square_out];
	ld.param.u64 %in, [square_in];
	ld.param.u32 %n, [square_n];
	mov.u32 %block, %ctaid.x;
	mov.u32 %size, %ntid.x;
	mov.u32 %i, %tid.x;
	mad.lo.s32 %i, %block, %size, %i;
	setp.ge.u32 %done, %i, %n;
	@%done bra END;
	cvta.to.global.u64 %out, %out;
	cvta.to.global.u64 %in, %in;
	mul.wide.u32 %off, %i, 4;
	add.s64 %out, %out, %off;
	add.s64 %in, %in, %off;
	ld.global.f32 %v, [%in];
	mul.f32 %v, %v, %v;
	st.global.f32 [%out], %v;
END:
	ret;
}
`,
	Go: map[string]cudart.GoKernel{"square": func(k *cudart.KernelCall) {
		out, in := cudart.View[float32](k, 0), cudart.View[float32](k, 1)
		for i := range k.Uint32(2) {
			out[i] = in[i] * in[i]
		}
	}},
}

// Declared once; a launch whose arguments differ from this is an error.
var square = device.NewModule(squares).Kernel("square",
	device.Out[float32](), device.In[float32](), device.Scalar[uint32]())

// A kernel is declared, launched on a buffer made of a slice, and its result read
// back. A program opens the runtime by actor.NewSystem() alone, and the import of
// cudart/nvidia or cudart/sim.
func ExampleToSlice() {
	sys, err := actor.NewSystem(actor.WithOpenRuntime(sim.New(sim.Config{})))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sys.Close(context.Background())

	worker, err := sys.Go("worker", sys.Device(0), func(s *actor.Stream) error {
		in, err := transfer.FromSlice(s, []float32{1, 2, 3, 4})
		if err != nil {
			return err
		}
		out, err := buffer.New[float32](s, in.Len())
		if err != nil {
			return err
		}
		if err := s.Launch(square, device.Linear(in.Len()), out.Out(), in.In(), device.U32(uint32(in.Len()))); err != nil {
			return err
		}
		values, err := transfer.ToSlice(s, out) // waits
		if err != nil {
			return err
		}
		fmt.Println(values)
		return buffer.ReleaseAll(s, in, out)
	})
	if err == nil {
		err = worker.Wait(context.Background())
	}
	if err != nil {
		fmt.Println(err)
	}
	// Output: [1 4 9 16]
}

// What one device has computed is used on another: sent, and pulled across. The
// producer goes on at once, and only the GPUs wait for each other.
func ExamplePull() {
	sys, err := actor.NewSystem(actor.WithOpenRuntime(sim.New(sim.Config{Devices: 2})))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sys.Close(context.Background())

	items := actor.NewChan[buffer.Buf[float32]](1)
	g := sys.Group(context.Background())
	g.Go("producer", sys.Device(0), func(s *actor.Stream) error {
		defer items.Close()
		b, err := buffer.New[float32](s, 3)
		if err != nil {
			return err
		}
		if err := b.Fill(s, 3); err != nil {
			return err
		}
		return items.Send(s, b) // b is the receiver's from here on
	})
	g.Go("consumer", sys.Device(1), func(s *actor.Stream) error {
		far, err := items.Recv(s)
		if err != nil {
			return err
		}
		fmt.Println("received on", s.Device().Index(), "from", far.Device().Index(), "as", far.State())
		b, err := transfer.Pull(s, far)
		if err != nil {
			return err
		}
		out, err := buffer.New[float32](s, b.Len())
		if err != nil {
			return err
		}
		if err := s.Launch(square, device.Linear(b.Len()), out.Out(), b.In(), device.U32(uint32(b.Len()))); err != nil {
			return err
		}
		values, err := transfer.ToSlice(s, out)
		if err != nil {
			return err
		}
		fmt.Println("pulled to", b.Device().Index(), "and squared:", values)
		return buffer.ReleaseAll(s, b, out)
	})
	if err := g.Wait(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// received on 1 from 0 as foreign
	// pulled to 1 and squared: [9 9 9]
}
