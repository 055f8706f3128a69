package sim

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// worst is the greatest error of a prediction that is not worth a failure.
const worst = 0.25

// worstOfADay is the same for a result that the preset was not fitted to: the hardware
// itself differs by a quarter from day to day.
const worstOfADay = 0.35

const predictPTX = `.version 6.0
.target sm_50
.address_size 64
.visible .entry fill32(.param .u64 out, .param .u32 value, .param .u32 n) { ret; }
.visible .entry add32(.param .u64 inout, .param .u32 value, .param .u32 n) { ret; }
.visible .entry spin(.param .u64 ns) { ret; }
`

// predictor runs the host's side of a case of bench/ as the baseline in C does, with
// threads that take turns by their virtual times.
type predictor struct {
	*rig
	v      *virtual
	thread int
}

func newPredictor(t *testing.T, top *Topology) *predictor {
	p := &predictor{rig: newRig(t, Config{Clock: Virtual(), Topology: top, NoBytes: true})}
	p.v = p.r.virtual
	p.v.thread = func() int { return p.thread }
	idle := func(*cudart.KernelCall) {}
	m := must(p.r.LoadModule(p.ctx, cudart.Image{
		Name: "predict", PTX: predictPTX,
		Go: map[string]cudart.GoKernel{"fill32": idle, "add32": idle, "spin": idle},
		Cost: map[string]func(*cudart.KernelCall) time.Duration{
			"spin": func(k *cudart.KernelCall) time.Duration { return time.Duration(k.Uint64(0)) },
		},
	}))
	for _, name := range []string{"fill32", "add32", "spin"} {
		f, _, err := p.r.Function(p.ctx, m, name)
		p.is(err, 0)
		p.kernel[name] = f
	}
	return p
}

func (p *predictor) event() cudart.Event { return must(p.r.CreateEvent(p.ctx, false)) }

func (p *predictor) sync(s cudart.Stream) { p.is(p.r.SynchronizeStream(p.ctx, s), 0) }

// on has the rest of the calls made by another thread, at t at the earliest.
func (p *predictor) on(thread int, t time.Duration) {
	p.thread = thread
	p.v.lane().lift(int64(t))
}

// pipe is bench/baseline/pipeline.c.
type pipeCase struct {
	*predictor
	from, to         cudart.Stream
	buffer           []cudart.DevicePtr
	filled, returned []cudart.Event
	bytes            uint64
}

func (p *predictor) pipe(bytes uint64, depth int) *pipeCase {
	c := &pipeCase{predictor: p, from: p.newStream(), to: p.newStream(), bytes: bytes}
	for range depth {
		c.buffer = append(c.buffer, p.alloc(bytes))
		c.filled, c.returned = append(c.filled, p.event()), append(c.returned, p.event())
	}
	return c
}

func (c *pipeCase) produce(i int) {
	k := i % len(c.buffer)
	c.submit(c.from, func(l *cudart.List) {
		if i >= len(c.buffer) {
			l.Wait(c.returned[k])
		}
		c.launch(l, "fill32", cudart.Arg{Slot: uint64(c.buffer[k]), Bytes: c.bytes, Access: cudart.Out})
		l.Record(c.filled[k])
	})
}

func (c *pipeCase) consume(i int) {
	k := i % len(c.buffer)
	c.submit(c.to, func(l *cudart.List) {
		l.Wait(c.filled[k])
		c.launch(l, "add32", cudart.Arg{Slot: uint64(c.buffer[k]), Bytes: c.bytes, Access: cudart.InOut})
		l.Record(c.returned[k])
	})
}

// item is the time of an item in microseconds, after some to warm up.
func (c *pipeCase) item(run func(from, to int)) float64 {
	const warm, n = 100, 1000
	run(0, warm)
	c.both()
	began := c.r.Now()
	run(warm, warm+n)
	c.both()
	return micros(c.r.Now()-began) / n
}

func (c *pipeCase) both() { c.sync(c.from); c.sync(c.to) }

func (c *pipeCase) one(from, to int) {
	for i := from; i < to; i++ {
		c.produce(i)
		c.consume(i)
	}
}

// seen is how long after it was set a spinning thread sees a word.
const seen = 100 * time.Nanosecond

func (c *pipeCase) two(from, to int) {
	start := c.r.Now()
	at := [2]time.Duration{start, start} // the threads' times
	produced, consumed := []time.Duration{}, []time.Duration{}
	for len(consumed) < to-from {
		p, q := len(produced), len(consumed)
		producer, consumer := at[0], at[1]
		if back := p - len(c.buffer); p == to-from || back >= q {
			producer = math.MaxInt64
		} else if back >= 0 {
			producer = max(producer, consumed[back]+seen)
		}
		if q == p {
			consumer = math.MaxInt64
		} else {
			consumer = max(consumer, produced[q]+seen)
		}
		if producer <= consumer {
			c.on(1, producer)
			c.produce(from + p)
			at[0] = c.r.Now()
			produced = append(produced, at[0])
		} else {
			c.on(2, consumer)
			c.consume(from + q)
			at[1] = c.r.Now()
			consumed = append(consumed, at[1])
		}
	}
	c.on(0, max(at[0], at[1]))
}

// launches is the rate of n threads, in millions a second.
func (p *predictor) launches(n int) float64 {
	const each = 500
	b := p.alloc(4 << 10)
	var streams []cudart.Stream
	for range n {
		streams = append(streams, p.newStream())
	}
	start := p.r.Now()
	at := make([]time.Duration, n)
	for i := range at {
		at[i] = start
	}
	for range n * each {
		next := 0
		for i := range at {
			if at[i] < at[next] {
				next = i
			}
		}
		p.on(next+1, at[next])
		p.submit(streams[next], func(l *cudart.List) {
			p.launch(l, "add32", cudart.Arg{Slot: uint64(b), Bytes: 4 << 10, Access: cudart.InOut})
		})
		at[next] = p.r.Now()
	}
	last := start
	for _, t := range at {
		last = max(last, t)
	}
	return n1000(n*each, last-start)
}

// n1000 is how many things a microsecond.
func n1000(n int, d time.Duration) float64 { return float64(n) / micros(d) }

// known is launch → known, by a wait or by queries.
func (p *predictor) known(query bool) float64 {
	e := p.event()
	began := p.r.Now()
	p.submit(p.stream, func(l *cudart.List) {
		p.launch(l, "add32", cudart.Arg{})
		if query {
			l.Record(e)
		}
	})
	for done := false; query && !done; {
		done = must(p.r.QueryEvent(e))
	}
	if !query {
		p.sync(p.stream)
	}
	return micros(p.r.Now() - began)
}

// copies is the rate of copies of bytes one after the other, in GB/s.
func (p *predictor) copies(bytes uint64, op cudart.Op) float64 {
	const n = 16
	h := unsafe.Pointer(&p.host(bytes)[0])
	a, b := p.alloc(bytes), p.alloc(bytes)
	began := p.r.Now()
	for range n {
		p.submit(p.stream, func(l *cudart.List) {
			switch op {
			case cudart.OpCopyHtoD:
				l.CopyHtoD(a, h, bytes)
			case cudart.OpCopyDtoH:
				l.CopyDtoH(h, a, bytes)
			default:
				l.CopyDtoD(b, a, bytes)
			}
		})
	}
	p.sync(p.stream)
	return float64(n*bytes) / float64(p.r.Now()-began)
}

// spinning is the time of 2 kernels of 10 ms on each of n streams, in milliseconds.
func (p *predictor) spinning(n int) float64 {
	began := p.r.Now()
	var streams []cudart.Stream
	for range n {
		s := p.newStream()
		streams = append(streams, s)
		p.submit(s, func(l *cudart.List) {
			for range 2 {
				p.launch(l, "spin", cudart.Arg{Slot: uint64(10 * time.Millisecond)})
			}
		})
	}
	for _, s := range streams {
		p.sync(s)
	}
	return micros(p.r.Now()-began) / 1000
}

func micros(d time.Duration) float64 { return float64(d) / 1000 }

// The table of docs/simulator.md.
func TestOneH200PredictsWhatWasMeasured(t *testing.T) {
	h200 := func() *predictor { return newPredictor(t, Preset("one-h200")) }
	few := Preset("one-h200")
	few.GPUs[0].Queues = 8
	eight := func() *predictor { return newPredictor(t, few) }
	pipe := func(bytes uint64, depth int, two bool) float64 {
		c := h200().pipe(bytes, depth)
		if two {
			return c.item(c.two)
		}
		return c.item(c.one)
	}
	var table strings.Builder
	fmt.Fprintf(&table, "| case | unit | measured | predicted | error |\n|---|---|---|---|---|\n")
	for _, c := range []struct {
		name, unit string
		measured   float64
		predicted  float64
		calibrated bool
	}{
		{"pipeline 4 KiB, 8 in flight, one thread", "µs", 8.5, pipe(4<<10, 8, false), false},
		{"pipeline 4 KiB, 8 in flight, two threads", "µs", 6.0, pipe(4<<10, 8, true), false},
		{"pipeline 4 KiB, 1 in flight, one thread", "µs", 7.5, pipe(4<<10, 1, false), false},
		{"pipeline 4 KiB, 1 in flight, two threads", "µs", 10.9, pipe(4<<10, 1, true), false},
		{"pipeline 1 MiB, 8 in flight, one thread", "µs", 8.0, pipe(1<<20, 8, false), false},
		{"pipeline 1 MiB, 8 in flight, two threads", "µs", 6.2, pipe(1<<20, 8, true), false},
		{"pipeline 16 MiB, 8 in flight, one thread", "µs", 22.7, pipe(16<<20, 8, false), false},
		{"pipeline 16 MiB, 8 in flight, two threads", "µs", 22.9, pipe(16<<20, 8, true), false},
		{"pipeline 256 MiB, 8 in flight, one thread", "µs", 355, pipe(256<<20, 8, false), true},
		{"pipeline 256 MiB, 8 in flight, two threads", "µs", 355, pipe(256<<20, 8, true), false},
		{"launches, 1 thread", "M/s", 0.26, h200().launches(1), true},
		{"launches, 2 threads", "M/s", 0.42, h200().launches(2), true},
		{"launches, 4 threads", "M/s", 0.57, h200().launches(4), false},
		{"launches, 8 threads", "M/s", 0.76, h200().launches(8), false},
		{"launches, 16 threads", "M/s", 0.79, h200().launches(16), true},
		{"launch → known, by a wait", "µs", 9.8, h200().known(false), true},
		{"launch → known, by queries", "µs", 9.6, h200().known(true), false},
		{"launch → known, another day", "µs", 12.1, h200().known(true), false},
		{"copy to the device, 256 MiB", "GB/s", 55.4, h200().copies(256<<20, cudart.OpCopyHtoD), true},
		{"copy to the host, 256 MiB", "GB/s", 55.4, h200().copies(256<<20, cudart.OpCopyDtoH), true},
		{"copy inside the device, 256 MiB", "GB/s", 2070, h200().copies(256<<20, cudart.OpCopyDtoD), true},
		{"2 kernels of 10 ms on each of 8 streams, 8 queues", "ms", 20.3, eight().spinning(8), false},
		{"the same on 16 streams", "ms", 30.4, eight().spinning(16), false},
		{"the same on 32 streams", "ms", 50.6, eight().spinning(32), false},
		{"the same on 64 streams", "ms", 91.0, eight().spinning(64), false},
		{"the same on 32 streams, 32 queues", "ms", 20.7, h200().spinning(32), false},
		{"the same on 64 streams, 32 queues", "ms", 30.7, h200().spinning(64), false},
	} {
		off := c.predicted/c.measured - 1
		note := ""
		if c.calibrated {
			note = " (calibrated by it)"
		}
		fmt.Fprintf(&table, "| %s | %s | %.4g | %.4g | %+.0f %%%s |\n", c.name, c.unit, c.measured, c.predicted, 100*off, note)
		if math.Abs(off) > worst {
			t.Errorf("%s: predicted %.4g %s, measured %.4g", c.name, c.predicted, c.unit, c.measured)
		}
	}
	t.Log("\n" + table.String())
}

// The cases as bench/compare keeps them: newer figures than the table's.
func TestOneH200PredictsTheNewestResult(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "bench", "results", "*h200*.json"))
	if err != nil || len(files) == 0 {
		t.Skip("no result is kept")
	}
	slices.Sort(files) // by date
	newest := files[len(files)-1]
	text, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Cases []struct {
			Case  string
			Sides map[string]struct{ Median float64 }
		}
	}
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	h200 := func() *predictor { return newPredictor(t, Preset("one-h200")) }
	predicted := map[string]func() float64{
		"known c-sync": func() float64 { return 1000 * h200().known(false) },
		"known c-poll": func() float64 { return 1000 * h200().known(true) },
	}
	for name, bytes := range map[string]uint64{"4KiB": 4 << 10, "64KiB": 64 << 10, "1MiB": 1 << 20, "16MiB": 16 << 20, "256MiB": 256 << 20} {
		for _, depth := range []int{1, 8} {
			name := fmt.Sprintf("pipeline-%s-%d", name, depth)
			predicted[name+" c-one"] = func() float64 { c := h200().pipe(bytes, depth); return 1000 * c.item(c.one) }
			predicted[name+" c-two"] = func() float64 { c := h200().pipe(bytes, depth); return 1000 * c.item(c.two) }
		}
	}
	for _, n := range []int{1, 2, 4, 8, 16} {
		predicted[fmt.Sprintf("launches-%d c", n)] = func() float64 { return h200().launches(n) }
	}
	for _, c := range result.Cases {
		for side, measured := range c.Sides {
			predict := predicted[c.Case+" "+side]
			if predict == nil || measured.Median == 0 {
				continue
			}
			p := predict()
			off := p/measured.Median - 1
			t.Logf("%s %s: predicted %.4g, measured %.4g: %+.0f %%", c.Case, side, p, measured.Median, 100*off)
			if math.Abs(off) > worstOfADay {
				t.Errorf("%s %s: predicted %.4g, measured %.4g in %s", c.Case, side, p, measured.Median, newest)
			}
		}
	}
}
