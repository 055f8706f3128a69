package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// TestWhatKernelsTouch: under the clock of chaos a kernel that writes what its launch says
// it only reads, or leaves some of what it says it overwrites, is reported, and one that
// keeps to its word is not.
func TestWhatKernelsTouch(t *testing.T) {
	const n = 64
	image := cudart.Image{
		Name: "kernels",
		PTX:  ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) { ret; }\n",
	}
	for _, c := range []struct {
		name     string
		kernel   cudart.GoKernel
		in, out  cudart.Access
		overlap  bool // one memory for both
		want     []string
		wantText string
	}{
		{name: "copies all", kernel: func(k *cudart.KernelCall) { copy(k.Bytes(1), k.Bytes(0)) }, in: cudart.In, out: cudart.Out},
		{name: "writes its input", kernel: func(k *cudart.KernelCall) { copy(k.Bytes(1), k.Bytes(0)); k.Bytes(0)[5] ^= 1 }, in: cudart.In, out: cudart.Out,
			want: []string{"bad-kernel"}, wantText: "argument 0 is declared in, and it writes byte 5 of it"},
		{name: "writes what is inout", kernel: func(k *cudart.KernelCall) { copy(k.Bytes(1), k.Bytes(0)); k.Bytes(0)[5] ^= 1 }, in: cudart.InOut, out: cudart.Out},
		{name: "leaves a part", kernel: func(k *cudart.KernelCall) { copy(k.Bytes(1)[:n-16], k.Bytes(0)) }, in: cudart.In, out: cudart.Out,
			want: []string{"bad-kernel"}, wantText: "argument 1 is declared out, and it leaves 16 of 64 bytes of it as they were"},
		{name: "leaves a part of what is inout", kernel: func(k *cudart.KernelCall) { copy(k.Bytes(1)[:n-16], k.Bytes(0)) }, in: cudart.In, out: cudart.InOut},
		{name: "touches nothing", kernel: func(*cudart.KernelCall) {}, in: cudart.In, out: cudart.Out},
		{name: "one memory for both", kernel: func(k *cudart.KernelCall) { k.Bytes(1)[0] ^= 1 }, in: cudart.In, out: cudart.Out, overlap: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			image := image
			image.Go = map[string]cudart.GoKernel{"k": c.kernel}
			for seed := range uint64(8) {
				r := newRigOn(t, sim.New(sim.Config{Clock: sim.Chaos(seed)}))
				m, err := r.LoadModule(r.ctx[0], image)
				r.ok(err)
				f, _, err := r.Function(r.ctx[0], m, "k")
				r.ok(err)
				q := r.stream(0, "actor")
				in, err := r.Alloc(r.ctx[0], r.pool[0], n, q.h)
				r.ok(err)
				out, err := r.Alloc(r.ctx[0], r.pool[0], n, q.h)
				r.ok(err)
				if c.overlap {
					in = out
				}
				_, err = q.submit(func(l *cudart.List) {
					one := cudart.Dim3{X: 1, Y: 1, Z: 1}
					l.Fill(in, 7, 1, n)
					l.Launch(f, one, one, 0, cudart.Arg{Slot: uint64(in), Bytes: n, Access: c.in}, cudart.Arg{Slot: uint64(out), Bytes: n, Access: c.out})
				})
				r.ok(err)
				r.ok(r.SynchronizeStream(r.ctx[0], q.h))
				if n := r.Count(); n != len(c.want) {
					t.Errorf("seed %d: %d reports counted, want %d", seed, n, len(c.want))
				}
				reports := r.Reports()
				var got []string
				for _, rep := range reports {
					got = append(got, string(rep.Kind))
					if !strings.Contains(rep.String(), c.wantText) || !strings.Contains(rep.String(), `launch "k" on actor`) {
						t.Errorf("seed %d: %v", seed, rep)
					}
				}
				if !slices.Equal(got, c.want) {
					t.Fatalf("seed %d: reported %q, want %q: %v", seed, got, c.want, reports)
				}
			}
		})
	}
}
