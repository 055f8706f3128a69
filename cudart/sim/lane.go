package sim

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// lane is a thread of the host in virtual time.
type lane struct {
	at   atomic.Int64 // its time
	vain atomic.Int64 // queries in vain, one after the other

	passed int64 // when it was in the driver's lock last; guarded by that
}

// lift brings a lane to t, if it is not there yet.
func (l *lane) lift(t int64) {
	for {
		at := l.at.Load()
		if at >= t || l.at.CompareAndSwap(at, t) {
			return
		}
	}
}

// lane is the calling thread's. A new one begins at the time to which the machine has
// been driven.
func (v *virtual) lane() *lane {
	id := v.thread()
	v.hosts.RLock()
	l := v.lanes[id]
	v.hosts.RUnlock()
	if l != nil {
		return l
	}
	v.mu.Lock()
	now := v.latest
	v.mu.Unlock()
	v.hosts.Lock()
	defer v.hosts.Unlock()
	if l = v.lanes[id]; l == nil {
		l = &lane{}
		l.at.Store(now)
		v.lanes[id] = l
	}
	return l
}

// pay moves the calling thread on by the cost of a call.
func (v *virtual) pay(d time.Duration) {
	l := v.lane()
	l.vain.Store(0)
	l.at.Add(int64(d))
}

// issue is pay for a command, and returns when it has been submitted.
func (v *virtual) issue(s *stream, c *cudart.Command) int64 {
	l := v.lane()
	l.vain.Store(0)
	d, locks := v.costOf(s, c)
	if !locks || v.top.Host.Locked == 0 {
		return l.at.Add(int64(d))
	}
	at := v.lock.pass(l, l.at.Load(), int64(d), int64(v.top.Host.Locked), int64(v.top.Host.Contended))
	l.lift(at)
	return at
}

// turn is where a call costs the calling thread what it costs. One that asks for an event
// sees what has happened by the thread's own time.
func (v *virtual) turn(call string, e *event) {
	k := &v.top.Host
	switch call {
	case "cuEventQuery":
		if e != nil {
			l := v.lane()
			l.lift(e.told.Load())
			v.driveTo(l.at.Add(int64(k.Query)))
			if p := e.latest(); p.stream != nil && p.done() {
				l.lift(v.lastOf(p.stream))
			}
		}
	case "cuMemAllocFromPoolAsync":
		v.pay(k.Alloc)
	case "cuCtxSetCurrent":
		v.pay(k.SetCurrent)
	case "cuStreamSynchronize", "cuCtxSynchronize":
		v.pay(k.Synchronize)
	}
}

// learns is the time of a thread that was at t and names an event: it has learnt of its
// record, so it comes after that.
func (v *virtual) learns(t int64, e *event) int64 {
	t = max(t, e.told.Load())
	v.lane().lift(t)
	return t
}

// A thread that asks in vain so often, one query after the other and no other call
// between, is taken to do nothing else: from then on each query brings it to the next
// thing that happens.
const (
	patientQueries = 64
	never          = math.MaxInt64
)

func (v *virtual) vain(p point, polls uint) {
	l := v.lane()
	if l.vain.Add(1) > patientQueries {
		if next := v.driveTo(l.at.Load()); next < never && !p.done() {
			l.lift(next)
		}
	}
	if polls%patience == 0 {
		runtime.Gosched()
	}
}

// now is the time of the calling thread.
func (v *virtual) now() time.Duration { return time.Duration(v.lane().at.Load()) }

// deviceTime is the time at which the command happens that runs just now.
func (r *simulator) deviceTime() time.Duration {
	if v := r.virtual; v != nil {
		return time.Duration(v.at.Load())
	}
	return r.exec.now()
}

// driverLock is the lock of the driver, which is of the process.
type driverLock struct {
	mu    sync.Mutex
	last  *lane
	free  int64
	users []*lane // that were in it
}

// meets is how many calls two threads can be apart in time and meet at the lock: one
// that is further away comes from the scheduler's order, and not from the machine.
const meets = 8

// pass is when a call ends that a lane begins at t, of d without anybody else, of which
// the end is locked; each other thread that was there just now makes it longer.
func (k *driverLock) pass(l *lane, t, d, locked, contended int64) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := false
	for _, u := range k.users {
		known = known || u == l
		if apart := u.passed - t; u != l && apart <= meets*d && apart >= -meets*d {
			d += contended
		}
	}
	if !known {
		k.users = append(k.users, l)
	}
	from := t + d - min(locked, d)
	if k.last != l && k.free > from && k.free <= t+meets*d {
		from = k.free
	}
	l.passed = from + min(locked, d)
	if l.passed > k.free {
		k.free, k.last = l.passed, l
	}
	return l.passed
}
