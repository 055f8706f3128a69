package device

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
)

// TestF4_WhatIsWrongWithALaunch: an error when it is issued, which names the kernel
// and the parameter; nothing is loaded, issued or submitted.
func TestF4_WhatIsWrongWithALaunch(t *testing.T) {
	r := newRig(t, 0)
	s := r.stream(r.devs[0], "s")
	r.ok(r.devs[0].Load(module))
	mem, other := wordsOf(r.alloc(s, 4096)), wordsOf(r.alloc(s, 4096))
	r.sync(s)
	words := In[uint32]()
	wrong := NewModule(cudarttest.Kernels) // a module is loaded with all that is declared of it
	broken := NewModule(cudart.Image{Name: "broken", PTX: "no ptx"})
	info := r.devs[0].Info()
	line := func(blocks, threads uint32) Grid {
		return Grid{Blocks: cudart.Dim3{X: blocks, Y: 1, Z: 1}, Threads: cudart.Dim3{X: threads, Y: 1, Z: 1}}
	}
	good := line(1, 32)
	out, in, n := mem.arg(cudart.Out), mem.arg(cudart.In), U32(32)
	for _, c := range []struct {
		name  string
		k     *Kernel
		g     Grid
		args  []Arg
		param int
		says  string
	}{
		{"no such kernel", wrong.Kernel("nonesuch", words), good, []Arg{in}, -1, "has no kernel of that name"},
		{"declared with too few", wrong.Kernel("fill32", Out[uint32](), Scalar[uint32]()), good, []Arg{out, n}, -1, "declared with 2 parameters, the module's has 3"},
		{"declared with too many", wrong.Kernel("busy", Scalar[uint64](), words), good, []Arg{U64(1), in}, -1, "declared with 2 parameters, the module's has 1"},
		{"declared with more than are possible", wrong.Kernel("fill32", make([]Param, cudart.MaxArgs+1)...), good, nil, -1, "declared with 65 parameters, at most 64 are possible"},
		{"declared of another size", wrong.Kernel("fill32", Out[uint32](), Scalar[uint32](), Scalar[uint64]()), good, []Arg{out, n, U64(1)}, 2, "declared as uint64 of 8 bytes, the module's fill32_n has 4"},
		{"a scalar declared for memory", wrong.Kernel("fill32", Scalar[uint32](), Scalar[uint32](), Scalar[uint32]()), good, []Arg{n, n, n}, 0, "fill32_out has 8"},

		{"too few", fill32, good, []Arg{out, n}, -1, "2 arguments, it takes 3"},
		{"too many", fill32, good, []Arg{out, n, n, n}, -1, "4 arguments, it takes 3"},
		{"none", fill32, good, nil, -1, "0 arguments, it takes 3"},
		{"memory for a scalar", fill32, good, []Arg{out, in, n}, 1, "declared uint32, given in []uint32"},
		{"a scalar for memory", fill32, good, []Arg{n, n, n}, 0, "declared out []uint32, given uint32"},
		{"a scalar of another size", fill32, good, []Arg{out, n, U64(32)}, 2, "declared uint32, given uint64"},
		{"a scalar of another kind", fill32, good, []Arg{out, F32(1), n}, 1, "declared uint32, given float32"},
		{"a sign too many", fill32, good, []Arg{out, n, I32(32)}, 2, "declared uint32, given int32"},
		{"no argument for memory", fill32, good, []Arg{{}, n, n}, 0, "declared out []uint32, given no argument"},
		{"no argument for a scalar", fill32, good, []Arg{out, {}, n}, 1, "declared uint32, given no argument"},
		{"in for out", fill32, good, []Arg{in, n, n}, 0, "declared out []uint32, given in []uint32"},
		{"in for inout", add32, good, []Arg{in, n, n}, 0, "declared inout []uint32, given in []uint32"},
		{"out for in", copy32, good, []Arg{out, other.arg(cudart.Out), n}, 1, "declared in []uint32, given out []uint32"},
		{"out for inout", add32, good, []Arg{out, n, n}, 0, "declared inout []uint32, given out []uint32"},
		{"elements of another kind", wrong.Kernel("fill32", Out[float32](), Scalar[uint32](), Scalar[uint32]()), good, []Arg{out, n, n}, 0, "declared out []float32, given memory of uint32"},

		{"a grid that is too wide", fill32, line(info.MaxGrid.X+1, 32), []Arg{out, n, n}, -1, "is larger than the device's"},
		{"a grid that is too high", fill32, Grid{cudart.Dim3{X: 1, Y: info.MaxGrid.Y + 1, Z: 1}, cudart.Dim3{X: 1, Y: 1, Z: 1}, 0}, []Arg{out, n, n}, -1, "is larger than the device's"},
		{"a grid that is too deep", fill32, Grid{cudart.Dim3{X: 1, Y: 1, Z: info.MaxGrid.Z + 1}, cudart.Dim3{X: 1, Y: 1, Z: 1}, 0}, []Arg{out, n, n}, -1, "is larger than the device's"},
		{"a grid of nothing", fill32, line(0, 32), []Arg{out, n, n}, -1, "extent of 0"},
		{"no threads", fill32, line(1, 0), []Arg{out, n, n}, -1, "extent of 0"},
		{"the zero grid", fill32, Grid{}, []Arg{out, n, n}, -1, "extent of 0"},
		{"a block that is too large", fill32, line(1, uint32(info.MaxThreads)+1), []Arg{out, n, n}, -1, "larger than the device's"},
		{"too many threads in three dimensions", fill32, Grid{cudart.Dim3{X: 1, Y: 1, Z: 1}, cudart.Dim3{X: info.MaxBlock.X, Y: 2, Z: 1}, 0}, []Arg{out, n, n}, -1, "threads, at most"},
		{"a negative count of blocks", fill32, Blocks(-1, 32), []Arg{out, n, n}, -1, "negative"},
		{"a negative count of threads", fill32, Blocks(1, -32), []Arg{out, n, n}, -1, "negative"},
		{"a negative count of elements", fill32, Linear(-1), []Arg{out, n, n}, -1, "negative"},
		{"the most negative count", fill32, Linear(math.MinInt), []Arg{out, n, n}, -1, "negative"},
		{"more blocks than there are numbers for", fill32, Blocks(1<<32+1, 32), []Arg{out, n, n}, -1, "is larger than the device's"},
		{"more threads than there are numbers for", fill32, Blocks(1, 1<<32+1), []Arg{out, n, n}, -1, "is larger than the device's"},
		{"more elements than a grid covers", fill32, Linear(math.MaxInt), []Arg{out, n, n}, -1, "is larger than the device's"},
		{"too much shared memory", fill32, Grid{good.Blocks, good.Threads, info.MaxShared + 1}, []Arg{out, n, n}, -1, "bytes of shared memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.rt.take()
			err := s.Launch(1, c.k, c.g, c.args...)
			var l *LaunchError
			if !errors.As(err, &l) {
				t.Fatalf("%v is no LaunchError", err)
			}
			if l.Kernel != c.k.Name() || l.Param != c.param || !strings.Contains(l.Text, c.says) {
				t.Errorf("kernel %q, parameter %d: %s", l.Kernel, l.Param, l.Text)
			}
			if !strings.Contains(err.Error(), c.k.Name()) {
				t.Errorf("%q does not name the kernel", err)
			}
			if n := r.rt.take(); n != (counts{}) || s.Pending() != 0 || len(s.effects) != 0 {
				t.Errorf("something was issued: %+v, %d pending", n, s.Pending())
			}
		})
	}

	t.Run("a module that is no PTX", func(t *testing.T) {
		err := s.Launch(1, broken.Kernel("k"), good)
		if !errors.Is(err, cudart.ErrInvalidPTX) || !strings.Contains(err.Error(), "module broken") {
			t.Errorf("%v", err)
		}
		if err := r.devs[0].Load(broken); !errors.Is(err, cudart.ErrInvalidPTX) {
			t.Errorf("load: %v", err)
		}
	})
	t.Run("somebody else's memory", func(t *testing.T) {
		err := s.Launch(2, fill32, good, out, n, n)
		if !errors.Is(err, errNotOwner) || !strings.Contains(err.Error(), "kernel fill32: parameter 0") {
			t.Errorf("%v", err)
		}
		var l *LaunchError
		if err := s.Launch(2, fill32, good, in, n, n); !errors.As(err, &l) || !strings.Contains(l.Text, "given in memory (not the owner)") {
			t.Errorf("with the wrong access besides: %v", err)
		}
	})
	if mem.issued != 0 || mem.poison != nil {
		t.Errorf("memory was told of %d writes (%v)", mem.issued, mem.poison)
	}
}

// A kernel that would overwrite all may be told of a part: the rest is not lost.
func TestInOutForOut(t *testing.T) {
	r := newRig(t, 0)
	s := r.stream(r.devs[0], "s")
	mem := wordsOf(r.alloc(s, 4096))
	r.fill(s, mem, 1)
	r.ok(s.Launch(1, fill32, Linear(10), mem.arg(cudart.InOut), U32(2), U32(10)))
	if got := r.read(s, mem); got[9] != 2 || got[10] != 1 {
		t.Errorf("%v", got[:12])
	}
	if mem.issued != 2 {
		t.Errorf("memory was told of %d writes, want 2", mem.issued)
	}
}

// Scalars arrive as they were given, whatever stands in the unused bytes before.
func TestScalars(t *testing.T) {
	r := newRig(t, 0)
	s := r.stream(r.devs[0], "s")
	b := r.alloc(s, 4096)
	mem := &eights{wordsOf(b)}
	r.ok(s.Launch(1, scalars, Blocks(1, 1), MemoryArg(mem, 1, cudart.Out),
		U8(200), U16(60_000), U32(4_000_000_000), U64(math.MaxUint64), F32(1.5), F64(-2.25)))
	got := r.read(s, mem.words)
	for i, want := range []uint64{200, 60_000, 4_000_000_000, math.MaxUint64, uint64(math.Float32bits(1.5)), math.Float64bits(-2.25)} {
		if v := uint64(got[2*i]) | uint64(got[2*i+1])<<32; v != want {
			t.Errorf("scalar %d is %#x, want %#x", i, v, want)
		}
	}
	for _, c := range []struct {
		a    Arg
		want uint64
	}{
		{I8(-1), 0xff}, {I16(-1), 0xffff}, {I32(-1), 0xffff_ffff}, {I64(-1), math.MaxUint64}, {U8(1), 1},
	} {
		if c.a.slot != c.want {
			t.Errorf("slot %#x, want %#x", c.a.slot, c.want)
		}
	}
}

// eights is words that count as 64-bit elements.
type eights struct{ *words }

func (m *eights) Use(owner, gen uint32, a cudart.Access) (cudart.DevicePtr, uint64, Elem, error) {
	p, bytes, _, err := m.words.Use(owner, gen, a)
	return p, bytes, In[uint64]().elem, err
}

// Launching allocates nothing, and the kernels of a module are loaded once for each
// device.
func TestModulesAreLoadedOnceForEachDevice(t *testing.T) {
	r := newRig(t, 0)
	m := NewModule(cudarttest.Kernels)
	first, second := m.Kernel("idle"), m.Kernel("busy", Scalar[uint64]())
	for _, d := range r.devs {
		s := r.stream(d, "s")
		for range 3 {
			r.ok(s.Launch(1, first, Blocks(1, 1)))
			r.ok(s.Launch(1, second, Blocks(1, 1), U64(1)))
		}
		r.sync(s)
		if n := len(d.fns.modules); n != 1 {
			t.Errorf("%v has %d modules", d, n)
		}
	}
	late := m.Kernel("idle") // declared after the module was loaded
	r.ok(r.devs[0].Load(m))
	r.on(r.devs[0])
	r.ok(r.streams[0].Launch(1, late, Blocks(1, 1)))
}

func TestLaunchAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	r := newRig(t, 0)
	d := r.devs[0]
	s := r.stream(d, "s")
	mem := wordsOf(r.alloc(s, 512))
	d.rt = r.rt.Runtime // uncounted: the count allocates
	launch := func() {
		if s.Launch(1, fill32, Linear(8), mem.arg(cudart.Out), U32(1), U32(8)) != nil {
			panic("launch")
		}
		p, err := s.Flush(true)
		for done := false; !done && err == nil; runtime.Gosched() {
			done, err = p.Done(d)
		}
		if err != nil {
			panic(err)
		}
	}
	for range 100 {
		launch()
	}
	if n := testing.AllocsPerRun(1000, launch); n != 0 {
		t.Errorf("%v allocations for a launch, its submission, a record, and polls", n)
	}
}
