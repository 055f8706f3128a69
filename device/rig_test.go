package device

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
)

// rig is two devices on a thread of the test's, and what a test made on them, taken
// apart when it ends: then nothing may be left.
type rig struct {
	testing.TB
	rt      *watched
	devs    []*Device
	cur     *Device
	streams []*Stream
	gates   []*gate
}

func newRig(t testing.TB, budget uint64) *rig {
	t.Helper()
	w := &watched{Runtime: openRuntime(t)}
	return newRigOn(t, w, w, budget)
}

// newRigOn is newRig on a runtime around w.
func newRigOn(t testing.TB, w *watched, rt cudart.Runtime, budget uint64) *rig {
	t.Helper()
	r := &rig{TB: t, rt: w}
	o := Options{Budget: budget, Max: 2}
	if onDriver() {
		o.Virtual = 2
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	devs, err := Open(rt, o)
	r.ok(err)
	r.devs = devs
	t.Cleanup(r.close)
	r.on(devs[0])
	return r
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// on makes a device's context current.
func (r *rig) on(d *Device) {
	r.Helper()
	if r.cur != d {
		r.ok(d.Bind())
		r.cur = d
	}
}

func (r *rig) stream(d *Device, name string) *Stream {
	r.Helper()
	r.on(d)
	s, err := d.NewStream(name)
	r.ok(err)
	r.streams = append(r.streams, s)
	return s
}

// retire ends a stream before the test does.
func (r *rig) retire(s *Stream) {
	r.Helper()
	for i, other := range r.streams {
		if other == s {
			r.streams = append(r.streams[:i], r.streams[i+1:]...)
			break
		}
	}
	r.on(s.d)
	r.ok(s.Retire())
}

// alloc is a block for s.
func (r *rig) alloc(s *Stream, bytes uint64) *Block {
	r.Helper()
	r.on(s.d)
	b, err := s.d.Alloc(s, bytes, false)
	r.ok(err)
	return b
}

// flush submits, with a mark, and gives the point.
func (r *rig) flush(s *Stream) Point {
	r.Helper()
	r.on(s.d)
	p, err := s.Flush(true)
	r.ok(err)
	return p
}

// sync waits until all that the streams were given is done and known to be.
func (r *rig) sync(ss ...*Stream) {
	r.Helper()
	for _, s := range ss {
		r.flush(s)
		r.ok(r.rt.Runtime.SynchronizeStream(s.d.ctx, s.h))
		r.ok(s.Poll())
	}
}

// until asks again and again.
func (r *rig) until(what string, done func() bool) {
	r.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			r.Fatalf("never: %s", what)
		}
	}
}

func (r *rig) close() {
	for _, g := range r.gates {
		g.open()
	}
	r.rt.refuses(nil)
	r.rt.noEvent = false
	for _, s := range r.streams {
		r.on(s.d)
		r.ok(s.Retire())
	}
	r.ok(r.rt.SetCurrent(0))
	for _, d := range r.devs {
		if n := d.Streams(); n != 0 {
			r.Errorf("%v: %d streams are left", d, n)
		}
	}
	r.ok(CloseAll(r.devs))
	for _, d := range r.devs {
		if n := d.Events(); n != 0 {
			r.Errorf("%v: %d events are left", d, n)
		}
	}
	r.ok(r.rt.Close())
}

var (
	module   = NewModule(cudarttest.Kernels)
	fill32   = module.Kernel("fill32", Out[uint32](), Scalar[uint32](), Scalar[uint32]())
	add32    = module.Kernel("add32", InOut[uint32](), Scalar[uint32](), Scalar[uint32]())
	copy32   = module.Kernel("copy32", Out[uint32](), In[uint32](), Scalar[uint32]())
	gate32   = module.Kernel("gate", In[uint32](), Scalar[uint64]())
	scalars  = module.Kernel("scalars", Out[uint64](), Scalar[uint8](), Scalar[uint16](), Scalar[uint32](), Scalar[uint64](), Scalar[float32](), Scalar[float64]())
	gateTime = uint64(20 * time.Second) // a gate that is forgotten opens by itself
)

// words is memory of 32-bit words with one life, number 1, that owner 1 may use.
type words struct {
	ptr    cudart.DevicePtr
	n      uint64
	issued int
	poison error
}

var errNotOwner = errors.New("not the owner")

func (m *words) Use(owner, gen uint32, a cudart.Access) (cudart.DevicePtr, uint64, Elem, error) {
	if owner != 1 || gen != 1 {
		return 0, 0, 0, errNotOwner
	}
	return m.ptr, 4 * m.n, In[uint32]().elem, nil
}

func (m *words) Issued(gen uint32)              { m.issued++ }
func (m *words) Poison(gen uint32, cause error) { m.poison = cause }

func (m *words) arg(a cudart.Access) Arg { return MemoryArg(m, 1, a) }

func wordsOf(b *Block) *words { return &words{ptr: b.ptr, n: b.bytes / 4} }

// host is pinned memory of n words, all zero, which the devices address too.
func (r *rig) host(n int) ([]uint32, *words) {
	r.Helper()
	b, err := r.cur.AllocHost(uint64(4*n), r.cur)
	r.ok(err)
	h := unsafe.Slice((*uint32)(b.ptr), n)
	clear(h)
	return h, &words{ptr: cudart.DevicePtr(uintptr(b.ptr)), n: uint64(n)}
}

// gate holds streams: what they are given behind it runs when it is open.
type gate struct {
	r    *rig
	flag *uint32
	mem  *words
}

// gate makes one, with its kernel loaded: loading would wait for closed ones.
func (r *rig) gate() *gate {
	r.Helper()
	for _, d := range r.devs {
		r.ok(d.Load(module))
	}
	flag, mem := r.host(1)
	g := &gate{r, &flag[0], mem}
	r.gates = append(r.gates, g)
	return g
}

// hold closes the gate in s, behind what s has been given.
func (g *gate) hold(s *Stream) {
	g.r.Helper()
	g.r.on(s.d)
	g.r.ok(s.Launch(1, gate32, Blocks(1, 1), g.mem.arg(cudart.In), U64(gateTime)))
	_, err := s.Flush(false)
	g.r.ok(err)
}

func (g *gate) open() { atomic.StoreUint32(g.flag, 1) }

// fill issues a launch that fills a block with v.
func (r *rig) fill(s *Stream, m *words, v uint32) {
	r.Helper()
	r.on(s.d)
	r.ok(s.Launch(1, fill32, Linear(int(m.n)), m.arg(cudart.Out), U32(v), U32(uint32(m.n))))
}

// copy issues a launch that copies words.
func (r *rig) copy(s *Stream, dst, src *words) {
	r.Helper()
	r.on(s.d)
	r.ok(s.Launch(1, copy32, Linear(int(dst.n)), dst.arg(cudart.Out), src.arg(cudart.In), U32(uint32(dst.n))))
}

// read is what words hold behind all that s was given.
func (r *rig) read(s *Stream, m *words) []uint32 {
	r.Helper()
	r.on(s.d)
	h, to := r.host(int(m.n))
	r.ok(s.Launch(1, copy32, Linear(int(m.n)), to.arg(cudart.Out), m.arg(cudart.In), U32(uint32(m.n))))
	r.sync(s)
	return h
}
