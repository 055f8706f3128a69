package cudarttest

import (
	"math"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

var launchChecks = []check{
	{"passes arguments of every width", launchScalars},
	{"runs grids of every shape", launchShapes},
	{"runs a large grid", launchLarge},
	{"runs up to the device's limits", launchLimits},
	{"refuses more than the device's limits", launchTooMuch},
	{"computes inside an allocation", launchInside},
}

func launchScalars(f *fixture) {
	type args struct {
		a uint8
		b uint16
		c uint32
		d uint64
		e float32
		f float64
	}
	q := f.queue(f.main)
	p, raw := q.alloc(48), f.host(48)
	got := unsafe.Slice((*uint64)(unsafe.Pointer(&raw[0])), 6)
	for _, v := range []args{
		{},
		{math.MaxUint8, math.MaxUint16, math.MaxUint32, math.MaxUint64, math.MaxFloat32, math.MaxFloat64},
		{1, 2, 3, 4, -1.5, 2.25},
		{0x80, 0x8000, 0x80000000, 0x8000000000000000, math.SmallestNonzeroFloat32, math.Copysign(0, -1)},
		{0x12, 0x3456, 0x789ABCDE, 0x0123456789ABCDEF, float32(math.Inf(1)), math.Pi},
	} {
		q.launch("scalars", 1, out(p, 48), u32(uint32(v.a)), u32(uint32(v.b)), u32(v.c), u64(v.d), f32(v.e), f64(v.f))
		q.append(q.list.CopyDtoH(unsafe.Pointer(&got[0]), p, 48))
		q.submit()
		q.sync()
		want := [6]uint64{uint64(v.a), uint64(v.b), uint64(v.c), v.d, uint64(math.Float32bits(v.e)), math.Float64bits(v.f)}
		if [6]uint64(got) != want {
			f.Errorf("%+v arrived as %x, want %x", v, got, want)
		}
	}
}

func launchShapes(f *fixture) { shapes(f.queue(f.main), cudart.LaunchGraph{}) }

// shapes launches grids of every shape, by a graph where there is one.
func shapes(q *queue, by cudart.LaunchGraph) {
	q.f.Helper()
	for _, s := range []struct{ grid, block cudart.Dim3 }{
		{cudart.Dim3{X: 1, Y: 1, Z: 1}, cudart.Dim3{X: 1, Y: 1, Z: 1}},
		{cudart.Dim3{X: 5, Y: 1, Z: 1}, cudart.Dim3{X: 33, Y: 1, Z: 1}},
		{cudart.Dim3{X: 1, Y: 7, Z: 1}, cudart.Dim3{X: 1, Y: 9, Z: 1}},
		{cudart.Dim3{X: 1, Y: 1, Z: 3}, cudart.Dim3{X: 1, Y: 1, Z: 64}},
		{cudart.Dim3{X: 3, Y: 4, Z: 5}, cudart.Dim3{X: 6, Y: 2, Z: 3}},
		{cudart.Dim3{X: 2, Y: 3, Z: 2}, cudart.Dim3{X: 32, Y: 8, Z: 4}},
	} {
		w, h, d := s.grid.X*s.block.X, s.grid.Y*s.block.Y, s.grid.Z*s.block.Z
		n := w * h * d
		p, host := q.alloc(uint64(4*n)), q.f.words(int(n))
		q.launch3(by, "coords", s.grid, s.block, out(p, uint64(4*n)))
		q.toHost(host, p)
		q.free(p)
		q.submit()
		q.sync()
		for i, got := range host {
			x, y, z := uint32(i)%w, uint32(i)/w%h, uint32(i)/w/h
			if want := x | y<<10 | z<<20; got != want {
				q.f.Fatalf("grid %v of blocks %v: thread %d, %d, %d wrote %#x, want %#x", s.grid, s.block, x, y, z, got, want)
			}
		}
	}
}

func launchLarge(f *fixture) {
	const n = 1<<20 + 3
	q, host := f.queue(f.main), f.words(n)
	p := q.alloc(4 * n)
	q.fill32(p, 1, n)
	q.add32(p, 2, n)
	q.toHost(host, p)
	q.submit()
	q.sync()
	f.all(host, 3)
}

func launchLimits(f *fixture) {
	d, one := f.infos[0], cudart.Dim3{X: 1, Y: 1, Z: 1}
	q := f.queue(f.main)
	idle := f.main.functions["idle"]
	q.append(q.list.Launch(idle, one, cudart.Dim3{X: uint32(d.MaxThreads), Y: 1, Z: 1}, 0))
	q.append(q.list.Launch(idle, one, cudart.Dim3{X: 1, Y: 1, Z: d.MaxBlock.Z}, 0))
	q.append(q.list.Launch(idle, cudart.Dim3{X: 1, Y: d.MaxGrid.Y, Z: 1}, one, 0))
	q.append(q.list.Launch(idle, cudart.Dim3{X: 1, Y: 1, Z: d.MaxGrid.Z}, one, 0))
	q.append(q.list.Launch(idle, one, one, d.MaxShared))
	q.submit()
	q.sync()
}

func launchTooMuch(f *fixture) {
	d := f.infos[0]
	q := f.queue(f.main)
	for _, s := range []struct {
		what        string
		grid, block cudart.Dim3
		shared      uint32
	}{
		{"no block in x", cudart.Dim3{X: 0, Y: 1, Z: 1}, cudart.Dim3{X: 1, Y: 1, Z: 1}, 0},
		{"no block in y", cudart.Dim3{X: 1, Y: 0, Z: 1}, cudart.Dim3{X: 1, Y: 1, Z: 1}, 0},
		{"no block in z", cudart.Dim3{X: 1, Y: 1, Z: 0}, cudart.Dim3{X: 1, Y: 1, Z: 1}, 0},
		{"no thread in x", cudart.Dim3{X: 1, Y: 1, Z: 1}, cudart.Dim3{X: 0, Y: 1, Z: 1}, 0},
		{"no thread in y", cudart.Dim3{X: 1, Y: 1, Z: 1}, cudart.Dim3{X: 1, Y: 0, Z: 1}, 0},
		{"no thread in z", cudart.Dim3{X: 1, Y: 1, Z: 1}, cudart.Dim3{X: 1, Y: 1, Z: 0}, 0},
		{"a grid too large in y", cudart.Dim3{X: 1, Y: d.MaxGrid.Y + 1, Z: 1}, cudart.Dim3{X: 1, Y: 1, Z: 1}, 0},
		{"a grid too large in z", cudart.Dim3{X: 1, Y: 1, Z: d.MaxGrid.Z + 1}, cudart.Dim3{X: 1, Y: 1, Z: 1}, 0},
		{"a block too large in x", cudart.Dim3{X: 1, Y: 1, Z: 1}, cudart.Dim3{X: d.MaxBlock.X + 1, Y: 1, Z: 1}, 0},
		{"a block too large in z", cudart.Dim3{X: 1, Y: 1, Z: 1}, cudart.Dim3{X: 1, Y: 1, Z: d.MaxBlock.Z + 1}, 0},
		{"too many threads", cudart.Dim3{X: 1, Y: 1, Z: 1}, cudart.Dim3{X: 32, Y: uint32(d.MaxThreads)/32 + 1, Z: 1}, 0},
		{"too much shared memory", cudart.Dim3{X: 1, Y: 1, Z: 1}, cudart.Dim3{X: 1, Y: 1, Z: 1}, d.MaxShared + 1},
	} {
		q.append(q.list.Launch(f.main.functions["idle"], s.grid, s.block, s.shared))
		i, err := q.try()
		if i != 0 {
			f.Errorf("%s: command %d refused, want 0", s.what, i)
		}
		f.refused(err, s.what)
	}
	q.launch("idle", 1)
	q.submit()
	q.sync()
}

// launchInside gives kernels addresses in the middle of an allocation.
func launchInside(f *fixture) {
	const n, part = 1024, 100
	q, host := f.queue(f.main), f.words(n)
	p := q.alloc(4 * n)
	q.fill32(p, 0, n)
	for i := range uint32(n / part) {
		q.fill32(devicePtr(p, int(4*part*i)), i+1, part)
	}
	q.toHost(host, p)
	q.submit()
	q.sync()
	for i, got := range host {
		want := uint32(i/part + 1)
		if i >= n/part*part {
			want = 0
		}
		if got != want {
			f.Fatalf("word %d is %d, want %d", i, got, want)
		}
	}
}
