package cudarttest

import (
	"errors"
	"strings"

	"github.com/gpuactor/gpuactor/cudart"
)

var errorChecks = []check{
	{"names the call that was refused", errorCalls},
	{"is not kept for a later call", errorNotKept},
}

func errorCalls(f *fixture) {
	q, foreign := f.queue(f.main), f.event(f.twin)
	pool := f.pool(f.main)
	f.use(f.main)
	for call, refuse := range map[string]func() error{
		"cuLaunchKernel": func() error { q.reject(); _, err := q.try(); return err },
		"cuEventRecord":  func() error { q.record(foreign); _, err := q.try(); return err },
		"cuMemAllocFromPoolAsync": func() error {
			_, err := f.rt.Alloc(f.main.ctx, pool, 1<<46, q.stream)
			return err
		},
		"cuModuleGetFunction": func() error {
			_, _, err := f.rt.Function(f.main.ctx, f.main.module, "nothing")
			return err
		},
		"cuModuleLoadDataEx": func() error {
			_, err := f.rt.LoadModule(f.main.ctx, cudart.Image{PTX: "nothing"})
			return err
		},
	} {
		err := refuse()
		f.refused(err, call)
		var e *cudart.Error
		if errors.As(err, &e) && (e.Call != call || !strings.Contains(e.Error(), "CUDA_ERROR_")) {
			f.Errorf("%s is reported as call %q, and as: %v", call, e.Call, e)
		}
	}
}

func errorNotKept(f *fixture) {
	q, e := f.queue(f.main), f.event(f.main)
	for range 3 {
		q.reject()
		if _, err := q.try(); err == nil {
			f.Fatal("a block of 2048 threads was not refused")
		}
		if !f.done(e) {
			f.Error("an event never recorded is not done")
		}
		q.launch("idle", 1)
		q.record(e)
		q.submit()
		q.sync()
	}
}
