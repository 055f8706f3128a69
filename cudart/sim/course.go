package sim

import (
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
)

// gpu is what the streams of a device compete for.
type gpu struct {
	*GPU
	work, memory pipe
	queues       []*hardQueue
	kernels      int // free places
	engines      int // free copy engines
	forKernel    []*course
	forEngine    []*course
}

func newGPU(g *GPU) *gpu {
	x := &gpu{GPU: g, kernels: g.Kernels, engines: g.CopyEngines}
	x.work.rate, x.memory.rate = rateOf(g.Throughput), rateOf(g.Bandwidth)
	for range g.Queues {
		x.queues = append(x.queues, &hardQueue{})
	}
	return x
}

// hardQueue is one of the hardware's queues: the launches of its streams begin in the
// order of their submission, whatever holds the first of them.
type hardQueue struct {
	streams int
	given   atomic.Uint64      // tickets, one for each launch
	next    uint64             // ticket of the launch that may begin
	waiting map[uint64]*course // by ticket
}

// course is a stream in virtual time.
type course struct {
	flow
	s     *stream
	gpu   *gpu
	queue *hardQueue
	id    uint64 // by which ties are broken
	phase phase
	at    int64 // when the phase is over
	place int   // in the agenda, from 1; 0: not in it

	free   int64 // when its last command was done, or its wait over
	bytes  uint64
	holds  holding
	held   bool // at a wait
	kernel *runner
	trap   *loss // of its launch, before that runs: nil mostly
	waits  []*hostWait
}

type phase uint8

const (
	starting phase = iota // its next command is about to begin
	moving                // its flow is about to begin
	ending                // its command is about to be done
)

type holding uint8

const (
	nothing holding = iota
	aKernel
	anEngine
)

// number notes when a command was submitted, and a launch's place in its queue.
func (c *course) number(it *item, issued int64) {
	it.issued = issued
	if it.op == cudart.OpLaunch {
		it.ticket = c.queue.given.Add(1) - 1
	}
}
