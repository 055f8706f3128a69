package bench

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpuactor/gpuactor/cudart/cudarttest/bytecount"
)

// turns gives the producers of a job one file after another.
type turns struct {
	files   int64
	next    atomic.Int64
	working atomic.Int64
	closing func() // behind the last producer
}

func newTurns(files int, closing func()) *turns {
	t := &turns{files: int64(files), closing: closing}
	t.working.Store(jobProducers)
	return t
}

// all is the files that the caller gets.
func (t *turns) all(yield func(int) bool) {
	for {
		i := t.next.Add(1) - 1
		if i >= t.files || !yield(int(i)) {
			return
		}
	}
}

// end says that a producer will take no more.
func (t *turns) end() {
	if t.working.Add(-1) == 0 {
		t.closing()
	}
}

// plainItem is a chunk of the plain program.
type plainItem struct {
	file int
	data []byte
	bins [256]uint32
	last bool
}

// plainItems are used again, the latest first: it is still in the cache.
var plainItems = sync.Pool{New: func() any { return new(plainItem) }}

// plain does the job with goroutines, channels and slices, and with the function that
// the simulator's kernel is.
func (j *mainJob) plain() time.Duration {
	began := time.Now()
	var in [jobConsumers]chan *plainItem
	for i := range in {
		in[i] = make(chan *plainItem, jobDepth)
	}
	files := newTurns(len(j.files), func() {
		for _, c := range in {
			close(c)
		}
	})
	var all sync.WaitGroup
	for range jobProducers {
		all.Go(func() {
			defer files.end()
			for i := range files.all {
				plainProduce(j.files[i], i, in[i%len(in)])
			}
		})
	}
	for _, c := range in {
		all.Go(func() { j.plainConsume(c) })
	}
	all.Wait()
	return time.Since(began)
}

func plainProduce(rest []byte, file int, to chan<- *plainItem) {
	for len(rest) > 0 {
		item := plainItems.Get().(*plainItem)
		n := min(jobChunk, len(rest))
		item.data = append(item.data[:0], rest[:n]...) // read
		rest = rest[n:]
		clear(item.bins[:])
		bytecount.Add(item.bins[:], item.data)
		item.file, item.last = file, len(rest) == 0
		to <- item
	}
}

func (j *mainJob) plainConsume(in <-chan *plainItem) {
	var total histogram
	open := map[int]*histogram{}
	for item := range in {
		f := open[item.file]
		if f == nil {
			f = new(histogram)
			open[item.file] = f
		}
		for i, c := range item.bins {
			f[i] += uint64(c)
		}
		if item.last {
			for i, c := range f {
				total[i] += c
			}
			j.counts[item.file] = *f
			delete(open, item.file)
		}
		plainItems.Put(item)
	}
	j.add(total[:])
}
