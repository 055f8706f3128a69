// Tested is a pipeline of two devices with a test that tries it in many orders, on any
// machine: see main_test.go.
//
//	go run ./examples/tested
//	go test ./examples/tested
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	_ "github.com/gpuactor/gpuactor/cudart/nvidia"
	_ "github.com/gpuactor/gpuactor/cudart/sim"
	"github.com/gpuactor/gpuactor/device"
	"github.com/gpuactor/gpuactor/transfer"
)

var square = device.NewModule(cudart.Image{
	Name: "tested",
	PTX: `.version 6.0
.target sm_50
.address_size 64
.visible .entry square(.param .u64 .ptr .global .align 4 square_x)
{
	.reg .b32 %i;
	.reg .b64 %x;
	.reg .f32 %v;
	ld.param.u64 %x, [square_x];
	cvta.to.global.u64 %x, %x;
	mov.u32 %i, %tid.x;
	mad.wide.u32 %x, %i, 4, %x;
	ld.global.f32 %v, [%x];
	mul.f32 %v, %v, %v;
	st.global.f32 [%x], %v;
	ret;
}`,
	Go: map[string]cudart.GoKernel{"square": func(k *cudart.KernelCall) {
		x := cudart.View[float32](k, 0)
		for i := range x {
			x[i] *= x[i]
		}
	}},
}).Kernel("square", device.InOut[float32]())

// sums are the sums of the squares of some rows: the first device squares, the last one
// adds up.
func sums(ctx context.Context, sys *actor.System, rows [][]float32) ([]float32, error) {
	first, last := sys.Devices()[0], sys.Devices()[len(sys.Devices())-1]
	squares := actor.NewChan[buffer.Buf[float32]](2)
	g := sys.Group(ctx)
	g.Go("squares", first, func(s *actor.Stream) error {
		defer squares.Close()
		for _, row := range rows {
			b, err := transfer.FromSlice(s, row)
			if err != nil {
				return err
			}
			if err := s.Launch(square, device.Blocks(1, b.Len()), b.InOut()); err != nil {
				return err
			}
			if err := squares.Send(s, b); err != nil {
				return err
			}
		}
		return nil
	})
	var all []float32
	g.Go("sums", last, func(s *actor.Stream) error {
		for far, err := range squares.All(s) {
			if err != nil {
				return err
			}
			b, err := transfer.Pull(s, far)
			if err != nil {
				return err
			}
			row, err := transfer.ToSlice(s, b)
			if err != nil {
				return err
			}
			sum := float32(0)
			for _, x := range row {
				sum += x
			}
			all = append(all, sum)
			if err := b.Release(s); err != nil {
				return err
			}
		}
		return nil
	})
	err := g.Wait()
	return all, err
}

func main() {
	sys, err := actor.NewSystem()
	if err != nil {
		log.Fatal(err)
	}
	defer sys.Close(context.Background())
	got, err := sums(context.Background(), sys, [][]float32{{1, 2}, {3, 4}, {5, 6}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(got)
}
