package sim

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

const virtualPTX = `.version 6.0
.target sm_50
.address_size 64
.visible .entry takes(.param .u64 ns) { ret; }
.visible .entry spends(.param .u64 ns) { ret; }
.visible .entry reads(.param .u64 p) { ret; }
`

// timed is a machine in virtual time whose calls cost nothing and whose devices answer at
// once, so that a test names every nanosecond.
type timed struct {
	*rig
	streams []cudart.Stream
	ends    map[string]cudart.Event
	base    cudart.Event
}

// plain is n devices where a link moves a byte in a nanosecond.
func plain(n int) *Topology {
	const gb = 1_000_000_000
	t := &Topology{Name: "plain"}
	t.HostMemory = t.link("host memory", 100*gb, 0)
	for range n {
		t.bridge(t.plug(GPU{
			Name: "plain", Memory: 1 << 30, Multiprocessors: 1, CopyEngines: 2, Queues: 32, Kernels: 128,
			Throughput: 4 * gb, Bandwidth: 2 * gb,
		}, gb), gb)
	}
	for i := range t.Links {
		t.Links[i].Latency = 0
	}
	return t
}

func newTimed(t *testing.T, top *Topology, streams int) *timed {
	g := &timed{rig: newRig(t, Config{Clock: Virtual(), Topology: top}), ends: map[string]cudart.Event{}}
	idle := func(*cudart.KernelCall) {}
	m := must(g.r.LoadModule(g.ctx, cudart.Image{
		Name: "virtual", PTX: virtualPTX,
		Go: map[string]cudart.GoKernel{
			"takes": idle, "reads": idle,
			"spends": func(k *cudart.KernelCall) { k.Spend(time.Duration(k.Uint64(0))) },
		},
		Cost: map[string]func(*cudart.KernelCall) time.Duration{
			"takes": func(k *cudart.KernelCall) time.Duration { return time.Duration(k.Uint64(0)) },
		},
	}))
	for _, name := range []string{"takes", "spends", "reads"} {
		f, _, err := g.r.Function(g.ctx, m, name)
		g.is(err, 0)
		g.kernel[name] = f
	}
	for range streams {
		g.streams = append(g.streams, g.newStream())
	}
	g.base = must(g.r.CreateEvent(g.ctx, true))
	g.submit(g.stream, func(l *cudart.List) { l.Record(g.base) })
	return g
}

// give gives a stream commands, and a timed event behind them.
func (g *timed) give(stream int, name string, fill func(l *cudart.List)) {
	g.Helper()
	e := must(g.r.CreateEvent(g.ctx, true))
	g.ends[name] = e
	g.submit(g.streams[stream], func(l *cudart.List) {
		fill(l)
		l.Record(e)
	})
}

func (g *timed) takes(l *cudart.List, ns uint64) { g.launch(l, "takes", cudart.Arg{Slot: ns}) }

// ended states when everything ended, in ns from the beginning.
func (g *timed) ended(want map[string]int64) {
	g.Helper()
	g.is(g.r.SynchronizeContext(g.ctx), 0)
	for name, ns := range want {
		if at, err := g.r.Elapsed(g.base, g.ends[name]); err != nil || int64(at) != ns {
			g.Errorf("%s ended at %d ns (%v), want %d", name, int64(at), err, ns)
		}
	}
}

func TestKernelTakesWhatItStates(t *testing.T) {
	g := newTimed(t, plain(1), 2)
	g.give(0, "first", func(l *cudart.List) { g.takes(l, 100) })
	g.give(0, "second", func(l *cudart.List) { g.takes(l, 23) })
	g.give(1, "beside", func(l *cudart.List) { g.takes(l, 70) })
	g.give(1, "spends", func(l *cudart.List) { g.launch(l, "spends", cudart.Arg{Slot: 500}) })
	g.ended(map[string]int64{"first": 100, "second": 123, "beside": 70, "spends": 570})
	if now := int64(g.r.Now()); now != 570 {
		t.Errorf("the thread that waited for all is at %d, want 570", now)
	}
}

// A kernel that states nothing takes its memory's time: in and out once, inout twice,
// shared with whoever uses the memory.
func TestKernelTakesItsMemorysTime(t *testing.T) {
	g := newTimed(t, plain(1), 2)
	p, q := g.alloc(4000), g.alloc(4000)
	reads := func(l *cudart.List, p cudart.DevicePtr, a cudart.Access) {
		g.launch(l, "reads", cudart.Arg{Slot: uint64(p), Bytes: 4000, Access: a})
	}
	g.give(0, "alone", func(l *cudart.List) { reads(l, p, cudart.In) })
	g.is(g.r.SynchronizeContext(g.ctx), 0)
	g.give(0, "in", func(l *cudart.List) { reads(l, p, cudart.In) })
	g.give(1, "inout", func(l *cudart.List) { reads(l, q, cudart.InOut) })
	// 2 bytes a ns: alone 2000; then 4000 bytes each at 1 a ns, and 4000 more at 2.
	g.ended(map[string]int64{"alone": 2000, "in": 6000, "inout": 8000})
}

func TestKernelsWaitForAPlace(t *testing.T) {
	top := plain(1)
	top.GPUs[0].Kernels = 1 // exclusive
	g := newTimed(t, top, 3)
	for i, name := range []string{"a", "b", "c"} {
		g.give(i, name, func(l *cudart.List) { g.takes(l, 100) })
	}
	g.ended(map[string]int64{"a": 100, "b": 200, "c": 300})
}

// Streams that share a hardware queue start kernels in the order of their submission.
func TestLaunchWaitsBehindItsHardwareQueue(t *testing.T) {
	top := plain(1)
	top.GPUs[0].Queues = 1
	g := newTimed(t, top, 2)
	g.give(0, "a1", func(l *cudart.List) { g.takes(l, 100) })
	g.give(0, "a2", func(l *cudart.List) { g.takes(l, 100) })
	g.give(1, "b1", func(l *cudart.List) { g.takes(l, 10) })
	g.ended(map[string]int64{"a1": 100, "a2": 200, "b1": 110}) // b1 starts when a2 has, at 100
}

func TestCopiesWaitForAnEngine(t *testing.T) {
	top := plain(1)
	top.GPUs[0].CopyEngines = 1
	g := newTimed(t, top, 3)
	h, p := unsafe.Pointer(&g.host(3000)[0]), g.alloc(3000)
	g.give(0, "up", func(l *cudart.List) { l.CopyHtoD(p, h, 1000) })
	g.give(1, "down", func(l *cudart.List) { l.CopyDtoH(unsafe.Add(h, 1000), p+1000, 1000) })
	g.give(2, "kernel", func(l *cudart.List) { g.takes(l, 50) })
	g.ended(map[string]int64{"up": 1000, "down": 2000, "kernel": 50})
}

// Two copies on one link go at half its rate while both are there; the other direction
// is another link.
func TestLinkIsSharedByThoseOnIt(t *testing.T) {
	top := plain(1)
	top.GPUs[0].CopyEngines = 3
	g := newTimed(t, top, 3)
	h, p := unsafe.Pointer(&g.host(9000)[0]), g.alloc(9000)
	g.give(0, "long", func(l *cudart.List) { l.CopyHtoD(p, h, 3000) })
	g.give(1, "late", func(l *cudart.List) { g.takes(l, 1000); l.CopyHtoD(p+3000, unsafe.Add(h, 3000), 1000) })
	g.give(2, "down", func(l *cudart.List) { l.CopyDtoH(unsafe.Add(h, 6000), p+6000, 3000) })
	// long: 1000 alone, 1000 in 2000 ns beside late, 1000 alone.
	g.ended(map[string]int64{"long": 4000, "late": 3000, "down": 3000})
}

func TestPeerCopyGoesByTheWayThatThereIs(t *testing.T) {
	const bytes = 1_000_000
	for _, c := range []struct {
		top  *Topology
		want int64 // ns at the bandwidth of the narrowest link, with latencies
	}{
		{Preset("dgx-h100"), bytes * 1000 / 374_000},
		{Preset("pcie-2"), bytes * 1000 / 55_400},
		{Preset("pcie-4-no-p2p"), bytes * 1000 / 26_000},
	} {
		t.Run(c.top.Name, func(t *testing.T) {
			g := newRig(t, Config{Clock: Virtual(), Topology: c.top})
			far := must(g.r.RetainPrimary(1))
			g.use(far)
			there := must(g.r.Alloc(far, must(g.r.CreatePool(far)), bytes, must(g.r.CreateStream(far))))
			g.use(g.ctx)
			here := g.alloc(bytes)
			from, to := must(g.r.CreateEvent(g.ctx, true)), must(g.r.CreateEvent(g.ctx, true))
			g.submit(g.stream, func(l *cudart.List) {
				g.launch(l, "log", cudart.Arg{}) // busy while the rest is submitted
				l.Record(from)
				l.CopyPeer(there, far, here, g.ctx, bytes)
				l.Record(to)
			})
			g.is(g.r.SynchronizeStream(g.ctx, g.stream), 0)
			took := must(g.r.Elapsed(from, to))
			if over := int64(took) - c.want; over < 0 || over > 20_000 {
				t.Errorf("took %v, the links' %v", took, time.Duration(c.want))
			}
			g.is(g.r.ReleasePrimary(1), 0)
		})
	}
}

// Without peer access a copy goes over the host's memory.
func TestPeerCopyWithoutAccessGoesThroughTheHost(t *testing.T) {
	for _, noPeer := range []bool{false, true} {
		top := plain(2)
		top.Links[top.HostMemory].Bandwidth = 500_000_000
		top.NoPeer = func(int, int) bool { return noPeer }
		if way := len(top.way(nil, 0, 1)); !noPeer && way != 2 || noPeer && way != 3 {
			t.Errorf("no peer access %v: %d links", noPeer, way)
		}
		for i := range top.GPUs {
			top.GPUs[i].Out = nil
		}
		want := map[bool]int64{false: 1000, true: 2000}[noPeer]
		g := newTimed(t, top, 1)
		far := must(g.r.RetainPrimary(1))
		g.use(far)
		there := must(g.r.Alloc(far, must(g.r.CreatePool(far)), 1000, must(g.r.CreateStream(far))))
		g.use(g.ctx)
		here := g.alloc(1000)
		g.give(0, "copy", func(l *cudart.List) { l.CopyPeer(there, far, here, g.ctx, 1000) })
		g.ended(map[string]int64{"copy": want})
	}
}

// A launch that waits behind another one in its hardware queue is dropped with it.
func TestLossDropsWhatWaitsInAHardwareQueue(t *testing.T) {
	top := plain(1)
	top.GPUs[0].Queues = 1
	g := newTimed(t, top, 2)
	g.submit(g.streams[0], func(l *cudart.List) {
		g.takes(l, 50) // time for the other stream to come to the queue
		g.launch(l, "die", cudart.Arg{Slot: 1})
		g.takes(l, 100)
	})
	g.submit(g.streams[1], func(l *cudart.List) { g.takes(l, 100) })
	first := g.r.SynchronizeStream(g.ctx, g.streams[0])
	g.is(first, cudart.ErrLaunchFailed)
	v, s := g.r.virtual, g.of(g.streams[1])
	g.within("a host thread behind a lost launch", func() { v.await(s, s.submitted) })
}

// A kernel that yields is put aside, and everybody else goes on.
func TestYieldLetsOthersGoOn(t *testing.T) {
	g := newTimed(t, plain(1), 2)
	asked := 0
	m := must(g.r.LoadModule(g.ctx, cudart.Image{Name: "yields", PTX: virtualPTX, Go: map[string]cudart.GoKernel{
		"takes": func(k *cudart.KernelCall) {
			for asked = 0; asked < 5; asked++ {
				k.Yield()
			}
		},
		"spends": func(*cudart.KernelCall) {}, "reads": func(*cudart.KernelCall) {},
	}}))
	f, _, err := g.r.Function(g.ctx, m, "takes")
	g.is(err, 0)
	g.give(0, "yields", func(l *cudart.List) { l.Launch(f, one, one, 0, cudart.Arg{}) })
	g.give(1, "beside", func(l *cudart.List) { g.takes(l, 100) })
	g.is(g.r.SynchronizeStream(g.ctx, g.streams[1]), 0)
	if asked != 0 {
		t.Errorf("at %v the kernel had yielded %d times, and not once", g.r.Now(), asked+1)
	}
	g.ended(map[string]int64{"yields": 5000, "beside": 100})
}

// What waits goes on a hop after what it waited for, and at once where that was done.
func TestWaitHops(t *testing.T) {
	top := plain(1)
	top.Hop = 7
	g := newTimed(t, top, 2)
	e := must(g.r.CreateEvent(g.ctx, false))
	g.give(0, "first", func(l *cudart.List) { g.takes(l, 100); l.Record(e) })
	g.give(1, "waited", func(l *cudart.List) { l.Wait(e); g.takes(l, 10) })
	g.give(1, "later", func(l *cudart.List) { l.Wait(e); g.takes(l, 10) })
	g.ended(map[string]int64{"first": 100, "waited": 117, "later": 127})
}

func TestCallsCostTheHost(t *testing.T) {
	top := plain(1)
	top.Host = HostCosts{Launch: 40, RecordTimed: 5, Synchronize: 2, Query: 3}
	top.Start, top.Wake = 10, 4
	g := newTimed(t, top, 1) // one record: the thread is at 5, its event at 15
	e := must(g.r.CreateEvent(g.ctx, false))
	g.submit(g.streams[0], func(l *cudart.List) { g.takes(l, 100); l.Record(e) }) // 45: it runs from 55 to 155
	is := func(want int64) {
		t.Helper()
		if now := int64(g.r.Now()); now != want {
			t.Errorf("the host is at %d, want %d", now, want)
		}
	}
	is(45)
	for i := range 5 {
		if must(g.r.QueryEvent(e)) {
			t.Errorf("query %d: done", i)
		}
	}
	is(60)
	g.is(g.r.SynchronizeStream(g.ctx, g.streams[0]), 0)
	is(159)
	if !must(g.r.QueryEvent(e)) {
		t.Error("not done")
	}
}

// A thread that only asks comes to the end of a long kernel without asking for each
// moment of it.
func TestQueriesInVainPassTime(t *testing.T) {
	top := plain(1)
	top.Host.Query = 3
	g := newTimed(t, top, 1)
	e := must(g.r.CreateEvent(g.ctx, false))
	g.submit(g.streams[0], func(l *cudart.List) { g.takes(l, uint64(time.Hour)); l.Record(e) })
	asked := 0
	for !must(g.r.QueryEvent(e)) {
		if asked++; asked > 1000 {
			t.Fatal("a thousand queries, and no end")
		}
	}
	if now := g.r.Now(); now < time.Hour || now > time.Hour+time.Microsecond {
		t.Errorf("the host is at %v", now)
	}
}

// Streams that share nothing have their times whatever order their threads come in, also
// where the machine was driven past the time of a thread that comes late.
func TestThreadsOrderDoesNotMatterWhereNothingIsShared(t *testing.T) {
	for _, order := range [][]int{{1, 2}, {2, 1}} {
		top := plain(1)
		top.Host = HostCosts{Launch: 40, RecordTimed: 5}
		g := newTimed(t, top, 3)
		thread := 0
		g.r.virtual.thread = func() int { return thread }
		for thread = range 3 {
			g.r.Now()
		}
		for _, thread = range order {
			g.give(thread, fmt.Sprint(thread), func(l *cudart.List) { g.takes(l, 1000*uint64(thread)) })
			g.is(g.r.SynchronizeStream(g.ctx, g.streams[thread]), 0)
		}
		thread = 0
		g.ended(map[string]int64{"1": 1035, "2": 2035})
	}
}

// A thread whose time is behind comes after what it learns of: a record by the call that
// recorded, and what a wait of its stream, a query or a wait of its own finds done.
func TestLateThreadComesAfterWhatItLearnsOf(t *testing.T) {
	top := plain(1)
	top.Host = HostCosts{Launch: 40, Record: 5, Wait: 1, Query: 1}
	g := newTimed(t, top, 3)
	thread := 0
	g.r.virtual.thread = func() int { return thread }
	for thread = range 5 {
		g.r.Now()
	}
	e := must(g.r.CreateEvent(g.ctx, false))
	thread = 1
	g.submit(g.streams[0], func(l *cudart.List) { g.takes(l, 1000); l.Record(e) }) // until 1040, told at 45
	thread = 2
	g.submit(g.streams[1], func(l *cudart.List) { l.Wait(e) })
	if now := g.r.Now(); now != 45 {
		t.Errorf("a thread that has a stream wait is at %d, want 45", int64(now))
	}
	thread = 1
	g.is(g.r.SynchronizeStream(g.ctx, g.streams[0]), 0)
	thread = 3
	g.give(2, "behind", func(l *cudart.List) { l.Wait(e); g.takes(l, 10) })
	g.is(g.r.SynchronizeContext(g.ctx), 0)
	g.ended(map[string]int64{"behind": 1050})
	thread = 4
	if !must(g.r.QueryEvent(e)) || g.r.Now() != 1040 {
		t.Errorf("a thread that learns of an end by a query is at %d, want 1040", int64(g.r.Now()))
	}
	thread = 5
	g.r.virtual.lane().at.Store(0)
	g.is(g.r.SynchronizeStream(g.ctx, g.streams[0]), 0)
	if now := g.r.Now(); now != 1040 {
		t.Errorf("a thread that learns of an end by a wait is at %d, want 1040", int64(now))
	}
}

// The same program has the same times.
func TestVirtualTimeRepeats(t *testing.T) {
	run := func() (ends []time.Duration) {
		g := newTimed(t, Preset("one-h200"), 7)
		h, p := unsafe.Pointer(&g.host(1 << 20)[0]), g.alloc(1<<20)
		var events []cudart.Event
		for i := range 200 {
			e := must(g.r.CreateEvent(g.ctx, true))
			events = append(events, e)
			g.submit(g.streams[i%7], func(l *cudart.List) {
				n := uint64(1 + i*517%(1<<16))
				if i > 3 {
					l.Wait(events[i-3])
				}
				l.CopyHtoD(p, h, n)
				g.launch(l, "reads", cudart.Arg{Slot: uint64(p), Bytes: n, Access: cudart.InOut})
				l.Record(e)
			})
		}
		g.is(g.r.SynchronizeContext(g.ctx), 0)
		for _, e := range events {
			ends = append(ends, must(g.r.Elapsed(g.base, e)))
		}
		return append(ends, g.r.Now())
	}
	if a, b := run(), run(); !slices.Equal(a, b) {
		t.Errorf("two runs:\n%v\n%v", a, b)
	}
}

func TestPresetsMakeSense(t *testing.T) {
	for _, name := range Presets() {
		top := Preset(name)
		if top.Name != name {
			t.Errorf("%s is called %s", name, top.Name)
		}
		r := New(Config{Topology: top})
		devices := must(r.Devices())
		if len(devices) != len(top.GPUs) || devices[0].CopyEngines != top.GPUs[0].CopyEngines || devices[0].Memory != top.GPUs[0].Memory {
			t.Errorf("%s: %+v", name, devices[0])
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	r := New(Config{Topology: Preset("asymmetric")})
	defer r.Close()
	if !must(r.CanAccessPeer(0, 1)) || must(r.CanAccessPeer(1, 0)) {
		t.Error("asymmetric: want access from 0 to 1 alone")
	}
}

func TestUnknownPresetPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Preset("dgx")
}

// What takes longer than there is time ends at the end of time, and not before it began.
func TestTimeDoesNotRunOver(t *testing.T) {
	g := newTimed(t, plain(1), 3)
	p := g.alloc(1 << 20)
	g.is(g.r.SynchronizeStream(g.ctx, g.stream), 0)
	g.give(0, "stated", func(l *cudart.List) { g.takes(l, 10); g.takes(l, math.MaxInt64); g.takes(l, 10) })
	g.give(1, "spent", func(l *cudart.List) {
		g.takes(l, 10)
		l.Launch(g.kernel["spends"], one, one, 0, cudart.Arg{Slot: math.MaxInt64})
	})
	Inject(g.r, KernelFault{Name: "reads", Slower: 1e300})
	g.give(2, "slow", func(l *cudart.List) {
		l.Launch(g.kernel["reads"], one, one, 0, cudart.Arg{Slot: uint64(p), Bytes: 1 << 20, Access: cudart.In})
	})
	for i := range g.streams {
		g.is(g.r.SynchronizeStream(g.ctx, g.streams[i]), 0)
	}
	for name, e := range g.ends {
		if d := must(g.r.Elapsed(g.base, e)); d < 30*time.Minute {
			t.Errorf("%s has ended after %v", name, d)
		}
	}
}

// A topology in which something takes less than no time is none.
func TestNegativeTimesPanic(t *testing.T) {
	for i, spoil := range []func(*Topology){
		func(t *Topology) { t.Hop = -1 },
		func(t *Topology) { t.Start = -1 },
		func(t *Topology) { t.Wake = -1 },
		func(t *Topology) { t.Host.Launch = -1 },
		func(t *Topology) { t.Host.Contended = -1 },
		func(t *Topology) { t.GPUs[0].KernelOverhead = -1 },
		func(t *Topology) { t.GPUs[0].CopyOverhead = -1 },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("topology %d was taken", i)
				}
			}()
			top := plain(1)
			spoil(top)
			New(Config{Topology: top})
		}()
	}
}

// A kernel's statement of what it takes may call the runtime, and end in any way: then the kernel traps.
func TestWhatAStatementOfCostMayDo(t *testing.T) {
	for _, c := range []struct {
		name string
		cost func(g *timed, k *cudart.KernelCall) time.Duration
		code cudart.Code
	}{
		{"ask for the time", func(g *timed, _ *cudart.KernelCall) time.Duration { return g.r.Now() + 1 }, 0},
		{"read freed memory", func(_ *timed, k *cudart.KernelCall) time.Duration { return time.Duration(len(k.Bytes(0))) }, cudart.ErrIllegalAddress},
		{"panic", func(*timed, *cudart.KernelCall) time.Duration { panic("as told") }, cudart.ErrLaunchFailed},
		{"Goexit", func(*timed, *cudart.KernelCall) time.Duration { runtime.Goexit(); return 0 }, cudart.ErrLaunchFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newTimed(t, plain(1), 2)
			ran, idle := 0, func(*cudart.KernelCall) {}
			m := must(g.r.LoadModule(g.ctx, cudart.Image{
				Name: "costs", PTX: virtualPTX,
				Go:   map[string]cudart.GoKernel{"reads": func(*cudart.KernelCall) { ran++ }, "takes": idle, "spends": idle},
				Cost: map[string]func(*cudart.KernelCall) time.Duration{"reads": func(k *cudart.KernelCall) time.Duration { return c.cost(g, k) }},
			}))
			f, _, err := g.r.Function(g.ctx, m, "reads")
			g.is(err, 0)
			p := g.alloc(64)
			g.submit(g.stream, func(l *cudart.List) {
				l.Free(p)
				l.Launch(f, one, one, 0, cudart.Arg{Slot: uint64(p), Bytes: 64, Access: cudart.In})
				g.takes(l, 1)
			})
			g.within("the kernel", func() { v, s := g.r.virtual, g.of(g.stream); v.await(s, s.submitted) })
			if g.is(g.r.SynchronizeStream(g.ctx, g.stream), c.code); (ran > 0) != (c.code == 0) {
				t.Errorf("the kernel ran %d times", ran)
			}
		})
	}
}
