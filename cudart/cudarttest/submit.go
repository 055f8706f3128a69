package cudarttest

import (
	"runtime"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

var submitChecks = []check{
	{"does not wait", submitAsynchronous},
	{"leaves the list free for reuse", submitReuse},
	{"skips effects behind a refused command", submitSkips},
	{"records behind a refused command", submitRecords},
	{"waits behind a refused command", submitWaits},
	{"frees behind a refused command", submitFrees},
	{"goes on after a refused bookkeeping command", submitRefusedRecord},
	{"reports the first refused command", submitFirst},
	{"does not allocate", submitAllocations},
}

func submitAsynchronous(f *fixture) {
	const n = 100
	q, g, e := f.queue(f.main), f.gate(), f.event(f.main)
	p, src, dst := q.alloc(8), f.words(1), f.words(1)
	src[0] = 5
	g.hold(q)
	q.toDevice(p, src)
	for range n {
		q.add32(p, 1, 1)
	}
	q.append(q.list.CopyDtoD(p+4, p, 4))
	q.toHost(dst, p+4)
	q.record(e)
	q.submit()
	f.pending(e, "what was submitted behind the gate")
	g.open()
	q.sync()
	f.all(dst, 5+n)
}

func submitReuse(f *fixture) {
	q, g, host := f.queue(f.main), f.gate(), f.words(2)
	p := q.alloc(8)
	g.hold(q)
	for i := range uint32(2) { // the same words of the list, one after the other
		q.fill32(p+cudart.DevicePtr(4*i), i+1, 1)
		q.submit()
	}
	q.fill32(p, 99, 1) // written into the list, and never submitted
	q.list.Reset()
	q.toHost(host, p)
	q.submit()
	g.open()
	q.sync()
	if host[0] != 1 || host[1] != 2 {
		f.Errorf("%v arrived, want [1 2]", host)
	}
}

// refusal submits what q has, of which command i must be refused.
func (q *queue) refusal(i int, codes ...cudart.Code) {
	q.f.Helper()
	got, err := q.try()
	if got != i {
		q.f.Errorf("command %d refused, want %d", got, i)
	}
	q.f.refused(err, "Submit", codes...)
}

func submitSkips(f *fixture) {
	q, host := f.queue(f.main), f.words(1)
	kept, other, src, dst := q.alloc(4), q.alloc(4), f.words(1), f.words(1)
	q.fill32(kept, 0, 1)
	q.fill32(other, 5, 1)
	q.submit()
	src[0] = 2
	q.fill32(kept, 1, 1) // in front: it ran
	q.reject()
	q.fill32(kept, 2, 1)
	q.toDevice(kept, src)
	q.append(q.list.Fill(kept, 3, 4, 1))
	q.append(q.list.CopyPeer(kept, f.main.ctx, other, f.main.ctx, 4))
	q.append(q.list.CopyDtoD(kept, other, 4))
	q.toHost(dst, kept)
	q.refusal(1)
	q.toHost(host, kept)
	q.submit()
	q.sync()
	f.all(host, 1)
	f.all(dst, 0)
	// The next list is not touched by it.
	q.fill32(kept, 4, 1)
	q.toHost(host, kept)
	q.submit()
	q.sync()
	f.all(host, 4)
}

// submitRecords: the gate tells a record that ran from one that did not.
func submitRecords(f *fixture) {
	q, other, g := f.queue(f.main), f.queue(f.main), f.gate()
	e, end := f.event(f.main), f.event(f.main)
	g.hold(q)
	q.launch("idle", 1)
	q.reject()
	q.record(e)
	q.launch("idle", 1)
	q.refusal(1)
	other.wait(e)
	other.record(end)
	other.submit()
	f.pending(e, "a record behind a refused command")
	f.pending(end, "a wait for that record")
	g.open()
	f.await(end, "a wait for a record behind a refused command")
	f.await(e, "a record behind a refused command")
}

func submitWaits(f *fixture) {
	q, other, g := f.queue(f.main), f.queue(f.main), f.gate()
	e, end := f.event(f.main), f.event(f.main)
	g.hold(other)
	other.record(e)
	other.submit()
	q.reject()
	q.wait(e)
	q.record(end)
	q.refusal(0)
	f.pending(end, "a wait behind a refused command")
	g.open()
	f.await(end, "a wait behind a refused command")
}

func submitFrees(f *fixture) {
	q, pool := f.queue(f.main), f.pool(f.main)
	before := f.unused()
	p := q.alloc(sizeable)
	q.submit()
	q.sync()
	q.reject()
	q.free(p)
	q.refusal(0)
	q.sync()
	f.ok(f.rt.TrimPool(f.main.ctx, pool, 0), "TrimPool")
	if now := f.unused(); now+sizeable/2 < before {
		f.Errorf("free memory went from %d to %d: a free behind a refused command did not run", before, now)
	}
}

func submitRefusedRecord(f *fixture) {
	q, g, host := f.queue(f.main), f.gate(), f.words(1)
	foreign, e := f.event(f.twin), f.event(f.main)
	p := q.alloc(4)
	q.fill32(p, 1, 1)
	g.hold(q)
	q.record(foreign)
	q.fill32(p, 2, 1)
	q.record(e)
	q.refusal(0, cudart.ErrInvalidHandle)
	f.pending(e, "a record behind a refused record")
	g.open()
	f.await(e, "a record behind a refused record")
	q.toHost(host, p)
	q.submit()
	q.sync()
	f.all(host, 1)
}

func submitFirst(f *fixture) {
	q, e := f.queue(f.main), f.event(f.twin)
	q.launch("idle", 1)
	q.launch("idle", 1)
	q.reject()
	q.reject()
	q.record(e)
	q.refusal(2)
	q.launch("idle", 1)
	q.record(e)
	q.reject()
	q.refusal(1, cudart.ErrInvalidHandle)
}

// submitAllocations: the hot path leaves Go's heap alone, on every runtime. A decorator,
// which has a method Unwrap, may keep what it sees.
func submitAllocations(f *fixture) {
	if raceEnabled {
		f.Skip("the race detector allocates")
	}
	if _, ok := f.rt.(interface{ Unwrap() cudart.Runtime }); ok {
		f.Skip("a decorator may allocate")
	}
	q, e := f.queue(f.main), f.event(f.main)
	p := q.alloc(8)
	q.fill32(p, 0, 2)
	q.submit()
	q.sync()
	rt, ctx := f.rt, f.main.ctx
	kernel, one := f.main.functions["add32"], cudart.Dim3{X: 1, Y: 1, Z: 1}
	var failed error
	round := func() {
		q.list.Reset()
		q.list.Wait(e)
		q.list.Launch(kernel, one, one, 0, inout(p, 4), u32(1), u32(1))
		q.list.CopyDtoD(p+4, p, 4)
		q.list.Fill(p, 0, 4, 1)
		q.list.Record(e)
		if _, err := rt.Submit(ctx, q.stream, q.list); err != nil {
			failed = err
		}
		for done := false; !done && failed == nil; runtime.Gosched() {
			done, failed = rt.QueryEvent(e)
		}
	}
	for range 100 {
		round()
	}
	n := testing.AllocsPerRun(500, round)
	q.list.Reset()
	f.ok(failed, "Submit")
	if n != 0 {
		f.Errorf("%v allocations for a submission and its queries", n)
	}
}
