package sim

import (
	"slices"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// Bytes are counted in units of 2⁻²⁰, and rates in units a nanosecond, so that a
// share of a link is exact to 10⁻⁷ and the same on every processor.
const unitBits = 20

func rateOf(bandwidth int64) int64 {
	hi, lo := uint64(bandwidth)>>(64-unitBits), uint64(bandwidth)<<unitBits
	if hi != 0 {
		panic("sim: a bandwidth of more than 17 TB/s")
	}
	return max(int64(lo/uint64(time.Second)), 1)
}

// pipe is a link, the memory of a device, or what its kernels get done: a rate that
// is shared equally by those who use it.
type pipe struct {
	rate  int64
	users []*course
}

// flow is data on its way through some pipes. It goes at the least of its shares;
// what it leaves of the others is not given to anybody else.
type flow struct {
	pipes []*pipe
	left  int64 // units, at the time moved
	rate  int64 // units a nanosecond, since then
	moved int64
}

// settle takes off what has gone through until t.
func (f *flow) settle(t int64) {
	if t > f.moved {
		f.left = max(f.left-f.rate*(t-f.moved), 0)
		f.moved = t
	}
}

// share is the rate that the flow has now.
func (f *flow) share() int64 {
	least := f.pipes[0].rate / int64(len(f.pipes[0].users))
	for _, p := range f.pipes[1:] {
		least = min(least, p.rate/int64(len(p.users)))
	}
	return max(least, 1)
}

// ends is when nothing is left.
func (f *flow) ends() int64 { return f.moved + (f.left+f.rate-1)/f.rate }

// start puts a course's flow into its pipes.
func (v *virtual) startFlow(c *course, bytes uint64, t int64) {
	c.left, c.moved, c.rate = int64(bytes)<<unitBits, t, 0
	c.phase = ending
	for _, p := range c.pipes {
		p.users = append(p.users, c)
	}
	v.happens(c, t)
	v.reshare(c.pipes, t)
}

// endFlow takes it out.
func (v *virtual) endFlow(c *course, t int64) {
	for _, p := range c.pipes {
		if i := slices.Index(p.users, c); i >= 0 {
			last := len(p.users) - 1
			p.users[i] = p.users[last]
			p.users[last] = nil
			p.users = p.users[:last]
		}
	}
	v.reshare(c.pipes, t)
	c.pipes = c.pipes[:0]
}

// reshare finds the new ends of all that use one of the pipes.
func (v *virtual) reshare(pipes []*pipe, t int64) {
	for _, p := range pipes {
		for _, u := range p.users {
			if share := u.share(); share != u.rate {
				u.settle(t)
				u.rate = share
				v.happens(u, u.ends())
			}
		}
	}
}

// costs are those of a call, on the host.
func (v *virtual) costOf(s *stream, c *cudart.Command) (d time.Duration, locks bool) {
	k := &v.top.Host
	switch c.Op {
	case cudart.OpLaunch:
		if c.By.Exec != 0 {
			return k.LaunchGraph, true
		}
		return k.Launch, true
	case cudart.OpCopyPeer:
		if m, ok := v.sim.memoryOf(c.Src); ok && m == s.ctx.device.memory {
			return k.Peer, true
		}
		return k.PeerInto, true
	case cudart.OpFill:
		return k.Fill, true
	case cudart.OpRecord:
		if e := v.sim.eventTable.get(uintptr(c.Event)); e != nil && e.timing {
			return k.RecordTimed, false
		}
		return k.Record, false
	case cudart.OpWait:
		return k.Wait, false
	case cudart.OpFree:
		return k.Free, false
	}
	return k.Copy, true
}

// kernelTime is what a kernel takes by its own statement. It opens mu for that, as
// lookOn does. A statement that panics is a trap of the kernel, which runs into it.
func (v *virtual) kernelTime(c *course, f *function, cmd *cudart.Command) (d time.Duration, stated bool) {
	if f.cost == nil {
		return 0, false
	}
	s := c.s
	v.busy = c
	v.mu.Unlock()
	returned := false
	defer func() {
		s.resolver.release()
		if !returned { // runtime.Goexit goes on behind this, and finds mu open: see loop
			at := faultSite()
			p := recover()
			c.trap = faultOf(f.name, p, at)
			if p == nil {
				return
			}
		}
		v.mu.Lock()
		v.busy = nil
	}()
	s.call.Bind(*cmd, &s.resolver)
	d = max(f.cost(&s.call), 0)
	returned = true
	return d, true
}

// traffic is what a kernel reads and writes by its arguments, in bytes.
func traffic(c *cudart.Command) (bytes uint64) {
	for i := range c.Args() {
		switch a := c.Arg(i); a.Access {
		case cudart.In, cudart.Out:
			bytes += a.Bytes
		case cudart.InOut:
			bytes += 2 * a.Bytes
		}
	}
	return bytes
}
