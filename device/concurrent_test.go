package device

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

// Everything that may come from any thread, at once, while the owners work: nothing
// hangs, what is copied is right, and all of it comes back.
func TestAnyThreadMayAskAndCopy(t *testing.T) {
	r := newRig(t, 0)
	const n, owners = 300, 2
	rounds := n
	if testing.Short() {
		rounds /= 10
	}
	for _, d := range r.devs {
		r.ok(d.Load(module))
	}
	carrier := r.stream(r.devs[0], "carrier")
	var stop atomic.Bool
	var work, askers sync.WaitGroup
	points := make([]atomic.Pointer[Point], owners)
	fail := func(err error) {
		if err != nil {
			t.Error(err)
			stop.Store(true)
		}
	}
	for i := range owners {
		work.Go(func() { // an owner on device 1 pulls from one block of device 0
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			d := r.devs[1]
			fail(d.Bind())
			defer func() { fail(d.Unbind()) }()
			s, err := d.NewStream("owner")
			if err != nil {
				fail(err)
				return
			}
			defer func() { fail(s.Retire()) }()
			for k := 0; k < rounds && !stop.Load(); k++ {
				src, err := allocOn(r.devs[0], s, carrier)
				if err != nil {
					fail(err)
					return
				}
				dst, err := d.Alloc(s, 4096, true)
				if err != nil {
					src.Release(Point{})
					runtime.Gosched()
					continue // the budget of incomplete blocks
				}
				_, err = s.Flush(true)
				fail(err)
				end, err := carrier.CopyPeer(d, PeerCopy{Dst: dst.ptr, Src: src.ptr, DstDevice: d, SrcDevice: r.devs[0], Bytes: 4096,
					After: [2]Point{src.last, dst.Ready()}})
				fail(err)
				src.Release(end)
				fail(s.WaitFor(end, ""))
				mem := wordsOf(dst)
				fail(s.Launch(1, add32, Linear(1024), mem.arg(cudart.InOut), U32(1), U32(1024)))
				p, err := s.Flush(k%3 == 0)
				fail(err)
				points[i].Store(&p)
				dst.Release(s.Next())
			}
		})
		askers.Go(func() {
			for !stop.Load() {
				if p := points[i].Load(); p != nil {
					_, err := p.Done(nil)
					fail(err)
					fail(p.Stream().Poll())
				}
				fail(r.devs[1].PollMemory(nil))
				fail(r.devs[0].PollMemory(nil))
				runtime.Gosched()
			}
		})
	}
	work.Wait()
	stop.Store(true)
	askers.Wait()
	r.sync(carrier)
	for _, d := range r.devs {
		r.on(d)
		r.ok(r.rt.SynchronizeContext(d.ctx))
		r.ok(d.PollMemory(d))
		if m := d.Memory(); m.Held != 0 {
			t.Errorf("%v: %+v", d, m)
		}
	}
}

// allocOn is a block of d for a copy on carrier, asked for on the thread of cur's
// owner: the carrier's own owner does nothing meanwhile.
func allocOn(d *Device, cur, carrier *Stream) (*Block, error) {
	allocating.Lock()
	defer allocating.Unlock()
	if err := d.Bind(); err != nil {
		return nil, err
	}
	b, err := d.Alloc(carrier, 4096, false)
	for err == ErrBudget {
		runtime.Gosched()
		b, err = d.Alloc(carrier, 4096, false)
	}
	if err == nil {
		_, err = carrier.Flush(true)
	}
	if bind := cur.d.Bind(); err == nil {
		err = bind
	}
	return b, err
}

var allocating sync.Mutex
