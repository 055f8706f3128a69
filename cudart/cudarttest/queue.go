package cudarttest

import (
	"math"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// queue is a stream, and the list that the check is writing for it.
type queue struct {
	f      *fixture
	at     *place
	stream cudart.Stream
	list   *cudart.List
}

func (f *fixture) queue(p *place) *queue {
	f.Helper()
	f.use(p)
	s, err := f.rt.CreateStream(p.ctx)
	f.ok(err, "CreateStream")
	l, err := cudart.NewList(1 << 16)
	f.ok(err, "NewList")
	q := &queue{f: f, at: p, stream: s, list: l}
	f.queues = append(f.queues, q)
	return q
}

// destroy destroys the stream, once.
func (q *queue) destroy() {
	q.f.Helper()
	if q.stream == 0 {
		return
	}
	s := q.stream
	q.stream = 0
	q.list.Close()
	q.f.use(q.at)
	q.f.ok(q.f.rt.DestroyStream(q.at.ctx, s), "DestroyStream")
}

// try submits the list, and empties it.
func (q *queue) try() (refused int, err error) {
	q.f.Helper()
	q.f.use(q.at)
	refused, err = q.f.rt.Submit(q.at.ctx, q.stream, q.list)
	q.list.Reset()
	return refused, err
}

// submit submits the list; nothing in it may be refused.
func (q *queue) submit() {
	q.f.Helper()
	if i, err := q.try(); err != nil || i != -1 {
		q.f.Fatalf("Submit: command %d: %v", i, err)
	}
}

// sync waits for what was submitted. A stream already destroyed has nothing.
func (q *queue) sync() {
	q.f.Helper()
	if q.stream == 0 {
		return
	}
	q.f.use(q.at)
	q.f.ok(q.f.rt.SynchronizeStream(q.at.ctx, q.stream), "SynchronizeStream")
}

// alloc allocates from the check's pool at the queue's place.
func (q *queue) alloc(bytes uint64) cudart.DevicePtr {
	q.f.Helper()
	pool := q.f.pool(q.at)
	q.f.use(q.at)
	p, err := q.f.rt.Alloc(q.at.ctx, pool, bytes, q.stream)
	q.f.ok(err, "Alloc")
	if p == 0 {
		q.f.Fatal("Alloc: a nil pointer without an error")
	}
	q.f.memory[p] = q
	return p
}

// append states that the list had room: a check that needs more is wrong.
func (q *queue) append(room bool) {
	q.f.Helper()
	if !room {
		q.f.Fatal("the check's list is full")
	}
}

func (q *queue) free(p cudart.DevicePtr) {
	q.f.Helper()
	delete(q.f.memory, p)
	q.append(q.list.Free(p))
}

func (q *queue) record(e cudart.Event) { q.f.Helper(); q.append(q.list.Record(e)) }
func (q *queue) wait(e cudart.Event)   { q.f.Helper(); q.append(q.list.Wait(e)) }

// launch launches n threads in one dimension.
func (q *queue) launch(kernel string, n uint32, args ...cudart.Arg) {
	q.f.Helper()
	q.launchBy(cudart.LaunchGraph{}, kernel, n, args...)
}

// launchBy is launch by an executable graph of the kernel.
func (q *queue) launchBy(g cudart.LaunchGraph, kernel string, n uint32, args ...cudart.Arg) {
	q.f.Helper()
	block := min(max(n, 1), 128)
	q.launch3(g, kernel, cudart.Dim3{X: (max(n, 1) + block - 1) / block, Y: 1, Z: 1}, cudart.Dim3{X: block, Y: 1, Z: 1}, args...)
}

func (q *queue) launch3(g cudart.LaunchGraph, kernel string, grid, block cudart.Dim3, args ...cudart.Arg) {
	q.f.Helper()
	f, have := q.at.functions[kernel]
	if !have {
		q.f.Fatalf("no kernel %s", kernel)
	}
	q.append(q.list.LaunchBy(g, f, grid, block, 0, args...))
}

// reject launches what every device refuses: a block of 2048 threads.
func (q *queue) reject() {
	q.f.Helper()
	q.launch3(cudart.LaunchGraph{}, "idle", cudart.Dim3{X: 1, Y: 1, Z: 1}, cudart.Dim3{X: 2048, Y: 1, Z: 1})
}

func (q *queue) fill32(p cudart.DevicePtr, value, n uint32) {
	q.f.Helper()
	q.launch("fill32", n, out(p, 4*uint64(n)), u32(value), u32(n))
}

func (q *queue) add32(p cudart.DevicePtr, value, n uint32) {
	q.f.Helper()
	q.launch("add32", n, inout(p, 4*uint64(n)), u32(value), u32(n))
}

func (q *queue) copy32(dst, src cudart.DevicePtr, n uint32) {
	q.f.Helper()
	q.launch("copy32", n, out(dst, 4*uint64(n)), in(src, 4*uint64(n)), u32(n))
}

// toHost copies into pinned words, and toDevice from them.
func (q *queue) toHost(dst []uint32, src cudart.DevicePtr) {
	q.f.Helper()
	q.append(q.list.CopyDtoH(unsafe.Pointer(&dst[0]), src, 4*uint64(len(dst))))
}

func (q *queue) toDevice(dst cudart.DevicePtr, src []uint32) {
	q.f.Helper()
	q.append(q.list.CopyHtoD(dst, unsafe.Pointer(&src[0]), 4*uint64(len(src))))
}

func in(p cudart.DevicePtr, bytes uint64) cudart.Arg {
	return cudart.Arg{Slot: uint64(p), Bytes: bytes, Access: cudart.In}
}

func out(p cudart.DevicePtr, bytes uint64) cudart.Arg {
	return cudart.Arg{Slot: uint64(p), Bytes: bytes, Access: cudart.Out}
}

func inout(p cudart.DevicePtr, bytes uint64) cudart.Arg {
	return cudart.Arg{Slot: uint64(p), Bytes: bytes, Access: cudart.InOut}
}

func u32(v uint32) cudart.Arg  { return cudart.Arg{Slot: uint64(v)} }
func u64(v uint64) cudart.Arg  { return cudart.Arg{Slot: v} }
func f32(v float32) cudart.Arg { return u32(math.Float32bits(v)) }
func f64(v float64) cudart.Arg { return u64(math.Float64bits(v)) }

// addressOf is the address of pinned memory, which a device knows it by too.
func addressOf[T any](p *T) cudart.DevicePtr {
	return cudart.DevicePtr(uintptr(unsafe.Pointer(p)))
}

// hostOf is where pinned memory begins.
func hostOf[T any](s []T) unsafe.Pointer { return unsafe.Pointer(&s[0]) }

// devicePtr is p, offset bytes on.
func devicePtr(p cudart.DevicePtr, offset int) cudart.DevicePtr {
	return p + cudart.DevicePtr(offset)
}
