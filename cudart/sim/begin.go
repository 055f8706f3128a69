package sim

import (
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// begin begins the next command of a stream: with what it takes, or parked where
// something has to come free first.
func (v *virtual) begin(c *course, t int64) {
	it := &c.s.current.items[c.s.at]
	if v.sim.lost.Load() != nil || it.op == cudart.OpWait || it.op == cudart.OpRecord || it.op == cudart.OpFree {
		v.end(c, t)
		return
	}
	cmd, _ := cudart.Decode(c.s.current.words[it.from:it.to])
	switch it.op {
	case cudart.OpLaunch:
		if v.admit(c, it.ticket, t) {
			v.beginKernel(c, it.function, &cmd, t)
		}
	case cudart.OpFill:
		v.takes(c, t, c.gpu.KernelOverhead, cmd.Bytes, &c.gpu.memory)
	default:
		if c.holds != anEngine && c.gpu.engines == 0 {
			c.gpu.forEngine = append(c.gpu.forEngine, c)
			return
		}
		if c.holds != anEngine {
			c.holds = anEngine
			c.gpu.engines--
		}
		v.beginCopy(c, &cmd, t)
	}
}

// admit lets a launch begin when it is first in its hardware queue and there is a place
// for a kernel.
func (v *virtual) admit(c *course, ticket uint64, t int64) bool {
	q := c.queue
	if ticket != q.next {
		if q.waiting == nil {
			q.waiting = map[uint64]*course{}
		}
		q.waiting[ticket] = c
		return false
	}
	if c.holds != aKernel {
		if c.gpu.kernels == 0 {
			c.gpu.forKernel = append(c.gpu.forKernel, c)
			return false
		}
		c.gpu.kernels--
		c.holds = aKernel
	}
	q.next++
	if then := q.waiting[q.next]; then != nil {
		delete(q.waiting, q.next)
		v.happens(then, t)
	}
	return true
}

func (v *virtual) beginKernel(c *course, f *function, cmd *cudart.Command, t int64) {
	d, stated := v.kernelTime(c, f, cmd)
	bytes := uint64(0)
	if !stated {
		d, bytes = c.gpu.KernelOverhead, traffic(cmd)
	}
	if v.sim.faults.Load() != nil {
		factor, extra := v.sim.slowness(f.name)
		d = time.Duration(min(factor*float64(d), endOfTime)) + extra
		bytes = uint64(min(factor*float64(bytes), mostBytes))
	}
	v.takes(c, t, d, bytes, &c.gpu.work, &c.gpu.memory)
}

// beginCopy finds the links that a copy goes over.
func (v *virtual) beginCopy(c *course, cmd *cudart.Command, t int64) {
	src, dst := v.ordinalOf(cmd.Src), v.ordinalOf(cmd.Dst)
	if src == dst {
		v.takes(c, t, c.gpu.CopyOverhead, 2*cmd.Bytes, &c.gpu.memory)
		return
	}
	d := c.gpu.CopyOverhead
	var links [8]int
	pipes := c.pipes[:0]
	for _, l := range v.top.way(links[:0], src, dst) {
		d += v.top.Links[l].Latency
		pipes = append(pipes, v.links[l])
	}
	c.pipes = pipes
	v.takes(c, t, d, cmd.Bytes, pipes...)
}

// ordinalOf is the device that an address is of, -1 for the host.
func (v *virtual) ordinalOf(p uint64) int {
	if m, ok := v.sim.memoryOf(p); ok {
		return m.ordinal
	}
	return -1
}

// takes has a command take some time, and then bytes that go through pipes.
func (v *virtual) takes(c *course, t int64, d time.Duration, bytes uint64, pipes ...*pipe) {
	c.pipes = append(c.pipes[:0], pipes...)
	c.bytes, c.phase = min(bytes, mostBytes), moving
	if bytes == 0 {
		c.pipes, c.phase = c.pipes[:0], ending
	}
	v.happens(c, t+int64(d))
}

// mostBytes is what a flow can count; more takes no longer.
const mostBytes = 1<<(62-unitBits) - 1

// giveBack passes on what a command held to the first that waits for it.
func (v *virtual) giveBack(c *course, t int64) {
	free, queue := &c.gpu.kernels, &c.gpu.forKernel
	switch c.holds {
	case nothing:
		return
	case anEngine:
		free, queue = &c.gpu.engines, &c.gpu.forEngine
	}
	holds := c.holds
	c.holds = nothing
	if len(*queue) == 0 {
		*free++
		return
	}
	next := (*queue)[0]
	*queue = (*queue)[1:]
	next.holds = holds
	v.happens(next, t)
}

// dropParked lets everybody go on who waits for something that a lost machine does not
// give any more.
func (v *virtual) dropParked() {
	v.dropped = true
	for _, g := range v.gpus {
		for _, c := range append(g.forEngine, g.forKernel...) {
			v.happens(c, v.latest)
		}
		g.forEngine, g.forKernel = nil, nil
		for _, q := range g.queues {
			for _, c := range q.waiting {
				v.happens(c, v.latest)
			}
			q.waiting = nil
		}
	}
}
