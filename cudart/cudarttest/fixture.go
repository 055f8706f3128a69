package cudarttest

import (
	"errors"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// fixture is what one check made, taken apart in order when the check ends,
// whichever way that was.
type fixture struct {
	*testing.T
	*suite

	gates   []*gate
	queues  []*queue
	events  map[cudart.Event]*place
	pools   map[*place]cudart.Pool
	memory  map[cudart.DevicePtr]*queue // not freed yet, with whom it came from
	pinned  []unsafe.Pointer
	graphs  []ownGraph
	current *place
}

func newFixture(t *testing.T, s *suite) *fixture {
	f := &fixture{
		T: t, suite: s,
		events: map[cudart.Event]*place{},
		pools:  map[*place]cudart.Pool{},
		memory: map[cudart.DevicePtr]*queue{},
	}
	if s.lostTo != "" {
		t.Skipf("every context was lost in %s", s.lostTo)
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	t.Cleanup(f.close)
	f.use(s.main)
	return f
}

// ok ends the check where err is not nil.
func (f *fixture) ok(err error, doing string) {
	f.Helper()
	ok(f.T, err, doing)
}

// use makes the place's context current.
func (f *fixture) use(p *place) {
	f.Helper()
	if f.current != p {
		f.ok(f.rt.SetCurrent(p.ctx), "SetCurrent")
		f.current = p
	}
}

// detach makes no context current.
func (f *fixture) detach() {
	f.Helper()
	f.ok(f.rt.SetCurrent(0), "SetCurrent(0)")
	f.current = nil
}

// event makes an event without timing.
func (f *fixture) event(p *place) cudart.Event { return f.newEvent(p, false) }

// timer makes an event with timing.
func (f *fixture) timer(p *place) cudart.Event { return f.newEvent(p, true) }

func (f *fixture) newEvent(p *place, timing bool) cudart.Event {
	f.Helper()
	f.use(p)
	e, err := f.rt.CreateEvent(p.ctx, timing)
	f.ok(err, "CreateEvent")
	f.events[e] = p
	return e
}

func (f *fixture) destroyEvent(e cudart.Event) {
	f.Helper()
	p := f.events[e]
	delete(f.events, e)
	f.use(p)
	f.ok(f.rt.DestroyEvent(p.ctx, e), "DestroyEvent")
}

// pool is the check's pool at a place.
func (f *fixture) pool(p *place) cudart.Pool {
	f.Helper()
	pool, have := f.pools[p]
	if !have {
		f.use(p)
		var err error
		pool, err = f.rt.CreatePool(p.ctx)
		f.ok(err, "CreatePool")
		f.pools[p] = pool
	}
	return pool
}

// host allocates pinned memory, all zero. Do it before a gate is closed: it may
// wait for the device.
func (f *fixture) host(bytes int) []byte {
	f.Helper()
	f.use(f.main)
	p, err := f.rt.AllocHost(f.main.ctx, uint64(bytes))
	f.ok(err, "AllocHost")
	f.pinned = append(f.pinned, p)
	b := unsafe.Slice((*byte)(p), bytes)
	clear(b)
	return b
}

// words allocates n pinned 32-bit words, all zero.
func (f *fixture) words(n int) []uint32 {
	f.Helper()
	return unsafe.Slice((*uint32)(unsafe.Pointer(&f.host(4 * n)[0])), n)
}

// done reports whether what e captured is done.
func (f *fixture) done(e cudart.Event) bool {
	f.Helper()
	done, err := f.rt.QueryEvent(e)
	f.ok(err, "QueryEvent")
	return done
}

// pending states that e is not done, and stays so: it looks for long enough that
// a wait which does not hold is noticed.
func (f *fixture) pending(e cudart.Event, what string) {
	f.Helper()
	for end := time.Now().Add(5 * time.Millisecond); time.Now().Before(end); runtime.Gosched() {
		if f.done(e) {
			f.Fatalf("%s was done too early", what)
		}
	}
}

// await waits until e is done, without blocking in the runtime.
func (f *fixture) await(e cudart.Event, what string) {
	f.Helper()
	for end := time.Now().Add(10 * time.Second); !f.done(e); runtime.Gosched() {
		if time.Now().After(end) {
			f.Fatalf("%s was never done", what)
		}
	}
}

// refused states that err is a refusal with one of the codes (any, where there
// are none) which leaves the context usable.
func (f *fixture) refused(err error, doing string, codes ...cudart.Code) {
	f.Helper()
	if err == nil {
		f.Errorf("%s: no error", doing)
		return
	}
	var e *cudart.Error
	if !errors.As(err, &e) {
		f.Errorf("%s: %v is a %T, not a *cudart.Error", doing, err, err)
		return
	}
	if e.Call == "" || e.Code == 0 || e.Error() == "" {
		f.Errorf("%s: %#v does not say which call was refused and why", doing, e)
	}
	if cudart.IsSticky(err) {
		f.Errorf("%s: %v is sticky", doing, err)
	}
	for _, c := range codes {
		if errors.Is(err, c) {
			return
		}
	}
	if len(codes) > 0 {
		f.Errorf("%s: %v, want %v", doing, err, codes)
	}
}

// close waits for everything, then takes it apart. Its sync is also the check
// that nothing before it was fatal to a context.
func (f *fixture) close() {
	for _, g := range f.gates {
		g.release()
	}
	f.use(f.main)
	if err := f.rt.SynchronizeContext(f.main.ctx); cudart.IsSticky(err) {
		f.lostTo = f.Name()
		f.Fatal(err)
	}
	for _, q := range f.queues {
		q.list.Reset()
		q.sync()
	}
	last := map[*place]*queue{} // who allocated may be destroyed by now
	for p, owner := range f.memory {
		q := last[owner.at]
		if q == nil {
			q = f.queue(owner.at)
			last[owner.at] = q
		}
		q.free(p)
		q.submit()
		q.sync()
	}
	for _, g := range f.graphs {
		f.use(g.at)
		f.ok(f.rt.DestroyLaunch(g.at.ctx, g.g), "DestroyLaunch")
	}
	for e := range f.events {
		f.destroyEvent(e)
	}
	for p, pool := range f.pools {
		f.use(p)
		f.ok(f.rt.DestroyPool(p.ctx, pool), "DestroyPool")
	}
	for _, q := range f.queues {
		q.destroy()
	}
	f.use(f.main)
	for _, p := range f.pinned {
		f.ok(f.rt.FreeHost(f.main.ctx, p), "FreeHost")
	}
	f.detach()
}
