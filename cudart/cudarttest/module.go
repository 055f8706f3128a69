package cudarttest

import (
	"strings"

	"github.com/gpuactor/gpuactor/cudart"
)

var moduleChecks = []check{
	{"finds its kernels", moduleFunctions},
	{"does not find others", moduleNotFound},
	{"is loaded more than once", moduleTwice},
	{"refuses what is not PTX", moduleNotPTX},
	{"refuses PTX for another device", moduleFuture},
}

func moduleFunctions(f *fixture) {
	for name := range Kernels.Go {
		fn, info, err := f.rt.Function(f.main.ctx, f.main.module, name)
		f.ok(err, "Function "+name)
		if fn == 0 || info.MaxThreads < 1 || info.MaxThreads > f.infos[0].MaxThreads {
			f.Errorf("%s: function %#x, %+v", name, fn, info)
		}
	}
}

func moduleNotFound(f *fixture) {
	for _, name := range []string{"nothing", "", "fill3", "fill322"} {
		_, _, err := f.rt.Function(f.main.ctx, f.main.module, name)
		f.refused(err, "Function "+name, cudart.ErrNotFound)
	}
}

func moduleTwice(f *fixture) {
	q, host := f.queue(f.main), f.words(1)
	p := q.alloc(4)
	for i := range uint32(2) {
		m, err := f.rt.LoadModule(f.main.ctx, Kernels)
		f.ok(err, "LoadModule")
		if m == f.main.module {
			f.Error("two loads made one module")
		}
		fn, _, err := f.rt.Function(f.main.ctx, m, "fill32")
		f.ok(err, "Function")
		one := cudart.Dim3{X: 1, Y: 1, Z: 1}
		q.append(q.list.Launch(fn, one, one, 0, out(p, 4), u32(i), u32(1)))
		q.toHost(host, p)
		q.submit()
		q.sync()
		f.all(host, i)
		f.ok(f.rt.UnloadModule(f.main.ctx, m), "UnloadModule")
	}
	// The suite's own is another, and still there.
	q.fill32(p, 7, 1)
	q.toHost(host, p)
	q.submit()
	q.sync()
	f.all(host, 7)
}

func moduleNotPTX(f *fixture) {
	for _, text := range []string{
		"this is not PTX\n",
		strings.Replace(Kernels.PTX, ".version", ".verse", 1),
		strings.Replace(Kernels.PTX, ".target", ".goal", 1),
	} {
		_, err := f.rt.LoadModule(f.main.ctx, cudart.Image{Name: "broken", PTX: text, Go: Kernels.Go})
		f.refused(err, "LoadModule", cudart.ErrInvalidPTX, cudart.ErrInvalidImage)
	}
}

func moduleFuture(f *fixture) {
	text := strings.Replace(Kernels.PTX, ".target sm_50", ".target sm_999", 1)
	_, err := f.rt.LoadModule(f.main.ctx, cudart.Image{Name: "future", PTX: text, Go: Kernels.Go})
	f.refused(err, "LoadModule for sm_999")
}
