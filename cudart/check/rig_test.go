package check_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// touch is a kernel that does nothing, so that a program with mistakes runs to its end.
var touch = cudart.Image{
	Name: "check",
	PTX:  ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry touch(.param .u64 p) { ret; }\n",
	Go:   map[string]cudart.GoKernel{"touch": func(*cudart.KernelCall) {}},
}

// rig is a checked simulator of two devices on the test's thread. The commands' sites
// are the numbers of the rig's calls.
type rig struct {
	testing.TB
	*check.Checker
	ctx   [2]cudart.Context
	touch [2]cudart.Function
	pool  [2]cudart.Pool
	cur   int
	line  int
	got   []string
	free  []func()
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return newRigOn(t, sim.New(sim.Config{}))
}

// newRigOn is newRig on a runtime of two devices.
func newRigOn(t testing.TB, rt cudart.Runtime) *rig {
	t.Helper()
	r := &rig{TB: t, cur: -1}
	r.Checker = check.New(rt, check.Options{
		Site: func() string { return fmt.Sprint(r.line) },
		Report: func(rep *check.Report) {
			s := string(rep.Kind) + " " + rep.First.Site
			if rep.Second != nil {
				s += " " + rep.Second.Site
			}
			r.got = append(r.got, s)
		},
	})
	runtime.LockOSThread()
	t.Cleanup(func() {
		for d := range r.ctx {
			r.on(d)
			r.ok(r.SynchronizeContext(r.ctx[d]))
		}
		for i := len(r.free) - 1; i >= 0; i-- {
			r.free[i]()
		}
		r.ok(r.SetCurrent(0))
		for d := range r.ctx {
			r.ok(r.ReleasePrimary(d))
		}
		r.ok(r.Close())
		runtime.UnlockOSThread()
	})
	for d := range r.ctx {
		ctx, err := r.RetainPrimary(d)
		r.ok(err)
		r.ctx[d] = ctx
		r.on(d)
		r.pool[d], err = r.CreatePool(ctx)
		r.ok(err)
		m, err := r.LoadModule(ctx, touch)
		r.ok(err)
		r.touch[d], _, err = r.Function(ctx, m, "touch")
		r.ok(err)
	}
	for d := range r.ctx {
		r.on(d)
		r.ok(r.EnablePeer(r.ctx[d], r.ctx[1-d]))
		r.ok(r.AllowPeer(r.ctx[d], r.pool[d], 1-d))
	}
	r.on(0)
	return r
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) on(d int) {
	if r.cur != d {
		r.cur = d
		r.ok(r.SetCurrent(r.ctx[d]))
	}
}

// queue is a stream of a device.
type queue struct {
	r *rig
	d int
	h cudart.Stream
}

func (r *rig) stream(d int, name string) queue {
	r.on(d)
	h, err := r.CreateStream(r.ctx[d])
	r.ok(err)
	r.NameStream(h, name)
	return queue{r, d, h}
}

func (r *rig) event(d int) cudart.Event {
	r.on(d)
	e, err := r.CreateEvent(r.ctx[d], false)
	r.ok(err)
	return e
}

// pinned is host memory, freed when the test ends.
func (r *rig) pinned(bytes uint64) unsafe.Pointer {
	r.on(0)
	p, err := r.AllocHost(r.ctx[0], bytes)
	r.ok(err)
	return p
}

// submit gives the queue what add puts into a list; the next call has the next number.
func (q queue) submit(add func(l *cudart.List)) (int, error) {
	q.r.line++
	q.r.on(q.d)
	l, err := cudart.NewList(0)
	q.r.ok(err)
	defer l.Close()
	add(l)
	return q.r.Submit(q.r.ctx[q.d], q.h, l)
}

func (q queue) do(add func(l *cudart.List)) {
	q.r.Helper()
	_, err := q.submit(add)
	q.r.ok(err)
}

var one = cudart.Dim3{X: 1, Y: 1, Z: 1}

func arg(p cudart.DevicePtr, bytes uint64, a cudart.Access) cudart.Arg {
	return cudart.Arg{Slot: uint64(p), Bytes: bytes, Access: a}
}

// kernel declares accesses, and does nothing.
func (q queue) kernel(a cudart.Arg) {
	q.r.Helper()
	q.do(func(l *cudart.List) { l.Launch(q.r.touch[q.d], one, one, 0, a) })
}

func (q queue) write(p cudart.DevicePtr, bytes uint64) { q.kernel(arg(p, bytes, cudart.Out)) }
func (q queue) read(p cudart.DevicePtr, bytes uint64)  { q.kernel(arg(p, bytes, cudart.In)) }

func (q queue) record(e cudart.Event) { q.do(func(l *cudart.List) { l.Record(e) }) }
func (q queue) wait(e cudart.Event)   { q.do(func(l *cudart.List) { l.Wait(e) }) }
func (q queue) free(p cudart.DevicePtr) {
	q.do(func(l *cudart.List) { l.Free(p) })
}
func (q queue) fill(p cudart.DevicePtr, bytes uint64) {
	q.do(func(l *cudart.List) { l.Fill(p, 0, 1, bytes) })
}

func (q queue) alloc(bytes uint64) cudart.DevicePtr {
	q.r.line++
	q.r.on(q.d)
	p, err := q.r.Alloc(q.r.ctx[q.d], q.r.pool[q.d], bytes, q.h)
	q.r.ok(err)
	return p
}

func (q queue) sync() {
	q.r.line++
	q.r.on(q.d)
	q.r.ok(q.r.SynchronizeStream(q.r.ctx[q.d], q.h))
}

// want is what was reported: kinds, each with the numbers of the calls.
func (r *rig) want(reports ...string) {
	r.Helper()
	if got, want := strings.Join(r.got, ", "), strings.Join(reports, ", "); got != want {
		r.Errorf("reported %q, want %q", got, want)
		for _, x := range r.Reports() {
			r.Log(x)
		}
	}
}
