package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// usual are the default options, on the simulator, or on the driver where the
// environment says so; there two contexts stand in for two devices.
func usual() options {
	o := options{chunk: 1 << 20, producers: 2, consumers: 2, depth: 8, devices: 2, runtime: os.Getenv(cudart.Env)}
	if o.runtime == "" {
		o.runtime = "sim"
	}
	if o.runtime == "nvidia" {
		o.virtual = 2
	}
	return o
}

// jobOf is a job for all files below the current directory.
func jobOf(t *testing.T, o options) job {
	t.Helper()
	found, err := walk(t.Context(), []string{"."}, func(path, what string) { t.Errorf("%s: %s", path, what) })
	if err != nil || len(found.problems) > 0 {
		t.Fatal(err, found.problems)
	}
	j := job{options: o, files: found.files, progress: func(int) {}, log: slog.New(slog.DiscardHandler)}
	if o.verify {
		j.reference = newReference()
	}
	return j
}

// scanned runs a job on a system of its own, and checks that nothing is left: no
// buffer, and none that an actor did not release itself.
func scanned(t *testing.T, ctx context.Context, j job, more ...actor.Option) (outcome, error) {
	t.Helper()
	before := buffer.Live()
	sys, err := open(j, more...)
	if err != nil {
		t.Fatal(err)
	}
	var r results
	err = newPipeline(sys, j, &r).run(ctx)
	if live := buffer.Live(); live != before {
		t.Errorf("%d buffers are left", live-before)
	}
	limit, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := sys.Close(limit); err != nil {
		t.Fatal("close: ", err)
	}
	if n := sys.Counts().Reclaimed; n > 0 && (err == nil || ctx.Err() != nil) {
		t.Errorf("%d buffers had to be taken back", n)
	}
	return r.outcome(), err
}

// isRight checks the counts of all files, by their contents, and of their sum.
func isRight(t *testing.T, o outcome, files map[string]string) {
	t.Helper()
	var sum histogram
	seen := map[string]bool{}
	for _, f := range o.files {
		want := histogramOf(files[f.path])
		if f.counts != want || seen[f.path] {
			t.Errorf("%s: %d bytes counted, want %d; twice: %v", f.path, f.counts.bytes(), want.bytes(), seen[f.path])
		}
		seen[f.path] = true
		sum.add(&want)
	}
	if o.total != sum {
		t.Errorf("the total has %d bytes, the files %d", o.total.bytes(), sum.bytes())
	}
	if len(o.damaged) > 0 {
		t.Errorf("damaged: %q", o.damaged)
	}
}

// lengths has files of every length that matters to chunks of 16 and 4096 bytes.
func lengths() map[string]string {
	files := map[string]string{"empty": "", "one": "x", "zeroes": strings.Repeat("\x00", 10000)}
	for _, n := range []int{15, 16, 17, 32, 4095, 4096, 4097, 3 * 4096, 30001} {
		files[fmt.Sprintf("d/%d", n)] = random(n)
	}
	for i := range 40 {
		files[fmt.Sprintf("small/%02d", i)] = random(i * 7)
	}
	return files
}

func countOf(o outcome, route string) uint64 {
	for _, t := range o.transfers {
		if t.Route == route {
			return t.Count
		}
	}
	return 0
}

func TestScan(t *testing.T) {
	files := lengths()
	chunks := func(size int) (n uint64) {
		for _, data := range files {
			n += uint64((len(data) + size - 1) / size)
		}
		return n
	}
	for name, change := range map[string]func(*options){
		"the defaults":                       func(o *options) {},
		"one device":                         func(o *options) { o.devices, o.virtual = 1, min(o.virtual, 1) },
		"three contexts":                     func(o *options) { o.virtual, o.devices = 3, 3 },
		"small chunks":                       func(o *options) { o.chunk = 4096 },
		"tiny chunks":                        func(o *options) { o.chunk = 16 },
		"an odd chunk":                       func(o *options) { o.chunk, o.depth = 4099, 1 },
		"one of each":                        func(o *options) { o.producers, o.consumers, o.depth, o.chunk = 1, 1, 1, 4096 },
		"many of each":                       func(o *options) { o.producers, o.consumers = 20, 30 },
		"many producers":                     func(o *options) { o.producers, o.consumers, o.depth = 9, 1, 1 },
		"many consumers":                     func(o *options) { o.producers, o.consumers, o.depth = 1, 9, 1 },
		"on shared threads":                  func(o *options) { o.colocate, o.chunk, o.depth = true, 4096, 1 },
		"on a shared thread of a device":     func(o *options) { o.colocate, o.devices, o.virtual = true, 1, min(o.virtual, 1) },
		"on a shared thread, by tiny chunks": func(o *options) { o.colocate, o.devices, o.virtual, o.chunk = true, 1, min(o.virtual, 1), 16 },
	} {
		for _, verify := range []bool{false, true} {
			o := usual()
			o.verify = verify
			change(&o)
			t.Run(fmt.Sprintf("%s/verify=%v", name, verify), func(t *testing.T) {
				tree(t, files)
				j := jobOf(t, o)
				var read atomic.Int64
				j.progress = func(n int) { read.Add(int64(n)) }
				out, err := scanned(t, t.Context(), j)
				if err != nil || len(out.problems) > 0 {
					t.Fatal(err, out.problems)
				}
				isRight(t, out, files)
				if len(out.files) != len(files) || read.Load() != int64(out.total.bytes()) {
					t.Errorf("%d files of %d, %d bytes read, %d counted", len(out.files), len(files), read.Load(), out.total.bytes())
				}
				if verify {
					if wrong := j.reference.differences(out.files, out.total); wrong != nil {
						t.Errorf("the CPU counts otherwise: %q", wrong)
					}
				}
				if up := countOf(out, "upload"); up != chunks(o.chunk) {
					t.Errorf("%d uploads of %d chunks", up, chunks(o.chunk))
				}
				// A chunk and its counts, each, and the consumers' totals, of which
				// some may be on the device where they are wanted.
				peer, each := countOf(out, "peer"), 2*chunks(o.chunk)
				if o.devices == 1 && peer != 0 || o.devices > 1 && (peer < each || peer >= each+uint64(o.consumers)) {
					t.Errorf("%d peer copies on %d devices, for %d chunks", peer, o.devices, chunks(o.chunk))
				}
				if out.runtime != o.runtime || len(out.devices) != min(o.devices, o.producers+o.consumers) {
					t.Errorf("on %s, devices %q", out.runtime, out.devices)
				}
			})
		}
	}
}

func TestScanOfNothing(t *testing.T) {
	tree(t, nil)
	out, err := scanned(t, t.Context(), jobOf(t, usual()))
	if err != nil || len(out.files) > 0 || out.total != (histogram{}) || len(out.devices) != 2 {
		t.Errorf("%v: %+v", err, out)
	}
}

// What cannot be opened, and what cannot be read to its end, is a problem, and is
// neither among the files nor in the total.
func TestScanReportsWhatItCannotRead(t *testing.T) {
	tree(t, map[string]string{"a": "aaa", "b": "bbb", "gone": "ggg"})
	j := jobOf(t, usual())
	if err := os.Remove("gone"); err != nil {
		t.Fatal(err)
	}
	want := []string{"gone"}
	if runtime.GOOS == "linux" { // its first page is never mapped
		j.files = append(j.files, file{path: "/proc/self/mem"})
		want = []string{"/proc/self/mem", "gone"}
	}
	out, err := scanned(t, t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	sortProblems(out.problems)
	var paths []string
	for _, p := range out.problems {
		paths = append(paths, p.Path)
	}
	if !slices.Equal(paths, want) || len(out.files) != 2 {
		t.Errorf("problems %+v, %d files", out.problems, len(out.files))
	}
	isRight(t, out, map[string]string{"a": "aaa", "b": "bbb"})
}

// Too little memory for what is to be in flight holds producers up, and nobody
// for ever, however it falls: whoever holds a chunk can go on. Two chunks fit here,
// and some or all of the small buffers beside them; else one chunk does.
func TestScanInLittleMemory(t *testing.T) {
	const size = 1 << 18
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprint(i)] = random(size + 10 - i) // of two chunks, or one
	}
	for _, c := range []struct{ devices, consumers, from, to int }{
		{1, 1, 0, 10}, {2, 1, 0, 10},
		{1, 3, 10, 22}, {2, 3, 10, 22},
	} {
		for small := c.from; small <= c.to; small++ {
			t.Run(fmt.Sprintf("%d devices, %d consumers, %d KiB", c.devices, c.consumers, small), func(t *testing.T) {
				tree(t, files)
				o := usual()
				o.devices, o.virtual = c.devices, min(o.virtual, c.devices)
				o.chunk, o.producers, o.consumers = size, 2, c.consumers
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				out, err := scanned(t, ctx, jobOf(t, o), actor.WithBudget(2*size+uint64(small)<<10))
				if err != nil || len(out.files) != len(files) {
					t.Fatal(err, len(out.files))
				}
				isRight(t, out, files)
			})
		}
	}
}

// A consumer that fails ends all others, also those who wait for it.
func TestConsumerThatFails(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprint(i)] = random(100)
	}
	tree(t, files)
	o := usual()
	o.depth, o.consumers = 1, 1
	j := jobOf(t, o)
	sys, err := open(j)
	if err != nil {
		t.Fatal(err)
	}
	var r results
	p := newPipeline(sys, j, &r)
	limit, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = sys.Go("saboteur", sys.Device(0), func(s *actor.Stream) error {
		data, err := buffer.New[byte](s, 100)
		if err != nil {
			return err
		}
		return p.in[0].Send(s, chunk{data: data}) // without its counts
	})
	if err != nil {
		t.Fatal(err)
	}
	for p.in[0].Len() == 0 && limit.Err() == nil {
		runtime.Gosched()
	}
	var refused *buffer.OwnershipError
	if err := p.run(limit); !errors.As(err, &refused) || limit.Err() != nil {
		t.Errorf("error %v, %v", err, limit.Err())
	}
	if err := sys.Close(limit); err != nil {
		t.Error(err)
	}
}

// A chunk that never fits ends the scan with that error, and the total is that
// of what is complete.
func TestScanThatFails(t *testing.T) {
	files := map[string]string{"a": "aaa", "b": random(1 << 19), "c": "ccc"}
	tree(t, files)
	before := buffer.Live()
	out, err := scanned(t, t.Context(), jobOf(t, usual()), actor.WithBudget(1<<18))
	if !errors.Is(err, cudart.ErrOutOfMemory) {
		t.Errorf("error %v", err)
	}
	if n := buffer.Live(); n != before {
		t.Errorf("%d buffers are left", n-before)
	}
	isRight(t, out, files)
}

func TestScanOfARuntimeThatIsNotThere(t *testing.T) {
	j := jobOf(t, usual())
	j.runtime = "abacus"
	if out, err := (gpu{}).scan(t.Context(), j); err == nil || out.runtime != "" {
		t.Errorf("error %v, %+v", err, out)
	}
}

func TestSides(t *testing.T) {
	o := usual()
	o.virtual, o.devices = 5, 5
	tree(t, nil)
	sys, err := open(jobOf(t, o))
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close(context.Background())
	for _, c := range []struct {
		devices, producers, consumers int
		left, right                   []int
	}{
		{1, 2, 2, []int{0, 0}, []int{0, 0}},
		{2, 2, 3, []int{0, 0}, []int{1, 1, 1}},
		{3, 3, 2, []int{0, 2, 0}, []int{1, 1}},
		{4, 2, 3, []int{0, 2}, []int{1, 3, 1}},
		{5, 4, 2, []int{0, 2, 4, 0}, []int{1, 3}},
	} {
		left, right := sides(sys.Devices()[:c.devices], c.producers, c.consumers)
		var l, r []int
		used := map[int]bool{}
		for _, d := range left {
			l = append(l, d.Index())
			used[d.Index()] = true
		}
		for _, d := range right {
			r = append(r, d.Index())
			used[d.Index()] = true
		}
		if !slices.Equal(l, c.left) || !slices.Equal(r, c.right) {
			t.Errorf("%d devices: producers on %v, consumers on %v", c.devices, l, r)
		}
		var all []int
		for _, d := range inOrder(left, right) {
			all = append(all, d.Index())
		}
		if !slices.Equal(all, slices.Sorted(maps.Keys(used))) {
			t.Errorf("%d devices: in order %v of %v", c.devices, all, used)
		}
	}
}
