package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// The reference scenario: two GPUs with two streams each, two threads. Thread 1 runs a
// kernel on gpu1s1 and copies a buffer of GPU 2 to GPU 1, on gpu2s1, which filled it;
// thread 2 keeps gpu2s2 and gpu1s2 busy.
type fourStreams struct {
	*rig
	v      *virtual
	thread int
	ctxs   [2]cudart.Context
	takes  [2]cudart.Function
	ran    []*ran
}

// ran is a command that was timed.
type ran struct {
	name   string
	stream string
	given  time.Duration // when its thread had submitted it
	takes  time.Duration // 0: not stated
	ended  *event
}

func (r *ran) end() time.Duration   { return r.ended.time }
func (r *ran) start() time.Duration { return r.end() - r.takes }

const (
	prepareTime = 2_500_017 * time.Nanosecond
	fillTime    = 4_000_023 * time.Nanosecond
	useTime     = 3_000_031 * time.Nanosecond
	ownTime     = 9_000_041 * time.Nanosecond
	busyTime    = 3_500_059 * time.Nanosecond
)

func newFourStreams(t *testing.T) *fourStreams {
	f := &fourStreams{rig: newRig(t, Config{Clock: Virtual(), Topology: Preset("pcie-2")})}
	f.v = f.r.virtual
	for i := range f.ctxs {
		f.ctxs[i] = must(f.r.RetainPrimary(i))
		f.use(f.ctxs[i])
		m := must(f.r.LoadModule(f.ctxs[i], cudart.Image{
			Name: "virtual", PTX: virtualPTX,
			Go: map[string]cudart.GoKernel{"takes": func(*cudart.KernelCall) {}},
			Cost: map[string]func(*cudart.KernelCall) time.Duration{
				"takes": func(k *cudart.KernelCall) time.Duration { return time.Duration(k.Uint64(0)) },
			},
		}))
		var err error
		f.takes[i], _, err = f.r.Function(f.ctxs[i], m, "takes")
		f.is(err, 0)
	}
	f.v.thread = func() int { return f.thread }
	return f
}

// on gives a stream of a device commands, from a thread, and times the last.
func (f *fourStreams) on(thread, gpu int, s cudart.Stream, stream, name string, takes time.Duration, fill func(l *cudart.List)) *ran {
	f.thread = thread
	f.use(f.ctxs[gpu])
	e := must(f.r.CreateEvent(f.ctxs[gpu], true))
	f.list.Reset()
	fill(f.list)
	if takes > 0 {
		f.list.Launch(f.takes[gpu], one, one, 0, cudart.Arg{Slot: uint64(takes)})
	}
	if _, err := f.r.Submit(f.ctxs[gpu], s, f.list); err != nil {
		f.Fatal(err)
	}
	r := &ran{name: name, stream: stream, given: f.r.Now(), takes: takes, ended: f.r.eventTable.get(uintptr(e))}
	f.list.Reset()
	f.list.Record(e)
	if _, err := f.r.Submit(f.ctxs[gpu], s, f.list); err != nil {
		f.Fatal(err)
	}
	f.ran = append(f.ran, r)
	return r
}

// scenario says which edges there are: those of the copy, and one that nobody needs.
type scenario struct{ copyWaits, needless bool }

func (f *fourStreams) run(c scenario) map[string]*ran {
	const bytes = 8 << 20
	var streams [2][2]cudart.Stream
	var data [2]cudart.DevicePtr
	for i := range f.ctxs {
		f.use(f.ctxs[i])
		streams[i] = [2]cudart.Stream{must(f.r.CreateStream(f.ctxs[i])), must(f.r.CreateStream(f.ctxs[i]))}
		data[i] = must(f.r.Alloc(f.ctxs[i], must(f.r.CreatePool(f.ctxs[i])), bytes, streams[i][0]))
	}
	prepared, copied := must(f.event(0)), must(f.event(1))
	nothing := func(*cudart.List) {}
	by := map[string]*ran{}
	note := func(r *ran) { by[r.name] = r }

	note(f.on(1, 0, streams[0][0], "gpu1s1", "prepare", prepareTime, nothing))
	note(f.on(2, 0, streams[0][1], "gpu1s2", "own 1", ownTime, nothing))
	note(f.on(2, 1, streams[1][1], "gpu2s2", "busy 1", busyTime, nothing))
	note(f.on(1, 1, streams[1][0], "gpu2s1", "fill", fillTime, nothing))
	f.on(1, 0, streams[0][0], "gpu1s1", "prepared", 0, func(l *cudart.List) { l.Record(prepared) })
	note(f.on(1, 1, streams[1][0], "gpu2s1", "copy", 0, func(l *cudart.List) {
		if c.copyWaits {
			l.Wait(prepared)
		}
		l.CopyPeer(data[0], f.ctxs[0], data[1], f.ctxs[1], bytes)
		l.Record(copied)
	}))
	for i := range 2 {
		note(f.on(2, 1, streams[1][1], "gpu2s2", fmt.Sprint("busy ", i+2), busyTime, func(l *cudart.List) {
			if c.needless {
				l.Wait(copied)
			}
		}))
	}
	note(f.on(2, 0, streams[0][1], "gpu1s2", "own 2", ownTime, nothing))
	note(f.on(1, 0, streams[0][0], "gpu1s1", "use", useTime, func(l *cudart.List) {
		if c.copyWaits {
			l.Wait(copied)
		}
	}))
	for i := range f.ctxs {
		f.use(f.ctxs[i])
		f.is(f.r.SynchronizeContext(f.ctxs[i]), 0)
	}
	f.thread = 0
	f.use(f.ctx)
	return by
}

func (f *fourStreams) event(gpu int) (cudart.Event, error) {
	f.use(f.ctxs[gpu])
	return f.r.CreateEvent(f.ctxs[gpu], false)
}

// waited is by how much a kernel started later than its own stream and its own thread
// say: 0 is that it waited for nothing else.
func (f *fourStreams) waited(r *ran) time.Duration {
	own := r.given + f.v.top.Start
	for _, before := range f.ran {
		if before == r {
			break
		}
		if before.stream == r.stream {
			own = max(own, before.end())
		}
	}
	return r.start() - own
}

func TestO7_UnrelatedStreamsWaitForNothingInVirtualTime(t *testing.T) {
	f := newFourStreams(t)
	by := f.run(scenario{copyWaits: true})
	for _, name := range []string{"own 1", "own 2", "busy 1", "busy 2", "busy 3", "prepare", "fill"} {
		if w := f.waited(by[name]); w != 0 {
			t.Errorf("%s on %s waited for %d ns", name, by[name].stream, int64(w))
		}
	}
	// The copy comes after both, and takes its overhead, the links' latencies and bytes;
	// use comes one hop after it.
	top := f.v.top
	took := top.GPUs[1].CopyOverhead + 2*pcieLatency
	u := flow{left: 8 << 20 << unitBits, rate: rateOf(gen5)}
	took += time.Duration(u.ends())
	if start, want := by["copy"].end()-took, by["fill"].end(); start != want {
		t.Errorf("the copy began at %d, want %d: as fill ended, later than prepare", int64(start), int64(want))
	}
	if start, want := by["use"].start(), by["copy"].end()+top.Hop; start != want {
		t.Errorf("use began at %d, want %d: a hop after the copy", int64(start), int64(want))
	}
	if overlapped := by["busy 2"].start() < by["copy"].end() && by["own 1"].end() > by["copy"].end(); !overlapped {
		t.Error("nothing unrelated ran beside the copy")
	}
	for _, r := range f.ran {
		if r.takes > 0 || r.name == "copy" {
			t.Logf("%s %-8s from %8d to %8d ns", r.stream, r.name, int64(r.start()), int64(r.end()))
		}
	}
}

// An edge too many, and one too few, are seen.
func TestO7_WrongEdgesAreSeenInVirtualTime(t *testing.T) {
	f := newFourStreams(t)
	if w := f.waited(f.run(scenario{copyWaits: true, needless: true})["busy 2"]); w <= 0 {
		t.Errorf("busy 2 was made to wait for the copy, and waited for %d ns", int64(w))
	}
	f = newFourStreams(t)
	if by := f.run(scenario{}); by["use"].start() >= by["copy"].end() {
		t.Error("use came after the copy without an edge")
	}
}
