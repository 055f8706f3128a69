package bench

import (
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
)

// Calls is how often a runtime's hot path was called.
type Calls struct {
	Submits, Launches, Copies, Records, Waits, Frees, Queries, Allocs int64
}

// Driver is the number of calls that reach the driver: a submission is one crossing
// and a call for each of its commands.
func (c Calls) Driver() int64 {
	return c.Launches + c.Copies + c.Records + c.Waits + c.Frees + c.Queries + c.Allocs
}

// Sub is what was called since before.
func (c Calls) Sub(before Calls) Calls {
	return Calls{
		c.Submits - before.Submits, c.Launches - before.Launches, c.Copies - before.Copies, c.Records - before.Records,
		c.Waits - before.Waits, c.Frees - before.Frees, c.Queries - before.Queries, c.Allocs - before.Allocs,
	}
}

// Counting is a runtime that counts the calls that it passes on.
type Counting struct {
	cudart.Runtime
	ops                      [cudart.OpFree + 1]atomic.Int64
	submits, queries, allocs atomic.Int64
}

// Calls are the calls so far.
func (c *Counting) Calls() Calls {
	n := func(o cudart.Op) int64 { return c.ops[o].Load() }
	return Calls{
		Submits: c.submits.Load(), Launches: n(cudart.OpLaunch),
		Copies:  n(cudart.OpCopyHtoD) + n(cudart.OpCopyDtoH) + n(cudart.OpCopyDtoD) + n(cudart.OpCopyPeer) + n(cudart.OpFill),
		Records: n(cudart.OpRecord), Waits: n(cudart.OpWait), Frees: n(cudart.OpFree),
		Queries: c.queries.Load(), Allocs: c.allocs.Load(),
	}
}

func (c *Counting) Submit(ctx cudart.Context, s cudart.Stream, l *cudart.List) (int, error) {
	c.submits.Add(1)
	for words := l.Words(); len(words) > 0; {
		var cmd cudart.Command
		cmd, words = cudart.Decode(words)
		c.ops[cmd.Op].Add(1)
	}
	return c.Runtime.Submit(ctx, s, l)
}

func (c *Counting) QueryEvent(e cudart.Event) (bool, error) {
	c.queries.Add(1)
	return c.Runtime.QueryEvent(e)
}

func (c *Counting) Alloc(ctx cudart.Context, p cudart.Pool, bytes uint64, s cudart.Stream) (cudart.DevicePtr, error) {
	c.allocs.Add(1)
	return c.Runtime.Alloc(ctx, p, bytes, s)
}
