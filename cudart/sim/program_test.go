package sim_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
)

// program is a small program of one host thread on device 0, in few words. What goes
// wrong in a call panics, and run returns it.
type program struct {
	rt        cudart.Runtime
	ctx       cudart.Context
	pool      cudart.Pool
	list      *cudart.List
	functions map[string]cudart.Function
	streams   []cudart.Stream
}

// run runs f with a number of streams on a fresh machine, and closes that not: who
// explores closes.
func run(rt cudart.Runtime, streams int, f func(p *program) error) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := &program{rt: rt, list: must(cudart.NewList(1 << 13)), functions: map[string]cudart.Function{}}
	defer p.list.Close()
	defer func() {
		if e, ok := recover().(error); ok {
			err = errors.Join(err, e)
		}
	}()
	p.ctx = must(rt.RetainPrimary(0))
	check(rt.SetCurrent(p.ctx))
	defer func() { err = errors.Join(err, rt.SetCurrent(0)) }()
	p.pool = must(rt.CreatePool(p.ctx))
	m := must(rt.LoadModule(p.ctx, cudarttest.Kernels))
	for _, name := range []string{"fill32", "add32", "copy32", "gate"} {
		fn, _, err := rt.Function(p.ctx, m, name)
		check(err)
		p.functions[name] = fn
	}
	for range streams {
		p.streams = append(p.streams, must(rt.CreateStream(p.ctx)))
	}
	return f(p)
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// words is device memory of n words, for every stream: what allocates has come to it.
func (p *program) words(n int) cudart.DevicePtr {
	w := must(p.rt.Alloc(p.ctx, p.pool, uint64(4*n), p.streams[0]))
	p.sync(0)
	return w
}

// pinned is n words of host memory, all zero.
func (p *program) pinned(n int) []uint32 {
	w := unsafe.Slice((*uint32)(must(p.rt.AllocHost(p.ctx, uint64(4*n)))), n)
	clear(w)
	return w
}

func (p *program) event() cudart.Event { return must(p.rt.CreateEvent(p.ctx, false)) }

// on submits what f puts into the list to stream i.
func (p *program) on(i int, f func(l *cudart.List)) {
	p.list.Reset()
	f(p.list)
	_, err := p.rt.Submit(p.ctx, p.streams[i], p.list)
	check(err)
}

func (p *program) sync(i int) { check(p.rt.SynchronizeStream(p.ctx, p.streams[i])) }

func (p *program) fill(l *cudart.List, to cudart.DevicePtr, n int, v uint32) {
	p.launch(l, "fill32", n, arg(to, n, cudart.Out), cudart.Arg{Slot: uint64(v)}, cudart.Arg{Slot: uint64(n)})
}

func (p *program) add(l *cudart.List, to cudart.DevicePtr, n int, v uint32) {
	p.launch(l, "add32", n, arg(to, n, cudart.InOut), cudart.Arg{Slot: uint64(v)}, cudart.Arg{Slot: uint64(n)})
}

func (p *program) copy(l *cudart.List, to, from cudart.DevicePtr, n int) {
	p.launch(l, "copy32", n, arg(to, n, cudart.Out), arg(from, n, cudart.In), cudart.Arg{Slot: uint64(n)})
}

func (p *program) launch(l *cudart.List, name string, n int, args ...cudart.Arg) {
	l.Launch(p.functions[name], cudart.Dim3{X: uint32(n), Y: 1, Z: 1}, cudart.Dim3{X: 1, Y: 1, Z: 1}, 0, args...)
}

func arg(p cudart.DevicePtr, words int, a cudart.Access) cudart.Arg {
	return cudart.Arg{Slot: uint64(p), Bytes: uint64(4 * words), Access: a}
}

func download(l *cudart.List, to []uint32, from cudart.DevicePtr) {
	l.CopyDtoH(unsafe.Pointer(&to[0]), from, uint64(4*len(to)))
}

func upload(l *cudart.List, to cudart.DevicePtr, from []uint32) {
	l.CopyHtoD(to, unsafe.Pointer(&from[0]), uint64(4*len(from)))
}

// errWrong is a program's word that it saw what it should not.
var errWrong = errors.New("wrong bytes")

func wrong(got []uint32, want uint32) error {
	if slices.ContainsFunc(got, func(v uint32) bool { return v != want }) {
		return fmt.Errorf("%w: %v, want %d", errWrong, got, want)
	}
	return nil
}

// flaw is what is left out of a program.
type flaw int

const (
	none flaw = iota
	noWait
	noWaitBefore
	noSync
)

// pipeline has a producer and a consumer on two streams, items of n words, and two
// slots that the producer uses in turn: it waits until the consumer has read.
func pipeline(items int, out flaw) func(p *program) error {
	const n = 16
	return func(p *program) error {
		slots := [2]cudart.DevicePtr{p.words(n), p.words(n)}
		sums := p.words(n)
		full, read := [2]cudart.Event{p.event(), p.event()}, [2]cudart.Event{p.event(), p.event()}
		got := p.pinned(n * items)
		p.on(1, func(l *cudart.List) { l.Fill(sums, 0, 4, n) })
		for i := range items {
			k := i % 2
			p.on(0, func(l *cudart.List) {
				if out != noWaitBefore {
					l.Wait(read[k])
				}
				p.fill(l, slots[k], n, uint32(i))
				p.add(l, slots[k], n, 1)
				l.Record(full[k])
			})
			p.on(1, func(l *cudart.List) {
				if out != noWait {
					l.Wait(full[k])
				}
				p.copy(l, sums, slots[k], n)
				download(l, got[n*i:n*(i+1)], sums)
				l.Record(read[k])
			})
			if i%5 == 4 {
				if out != noSync {
					p.sync(1)
				}
				for j := range i + 1 {
					if err := wrong(got[n*j:n*(j+1)], uint32(j+1)); err != nil {
						return err
					}
				}
			}
		}
		p.sync(0)
		return nil
	}
}
