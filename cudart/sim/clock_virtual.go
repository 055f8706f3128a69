package sim

import (
	"sync"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
)

// Virtual is a clock on which nothing takes real time: what a command takes is said by
// the machine's [Topology], in whole nanoseconds, and is the same in every run.
//
// Each thread of the host has a time of its own, which its calls move on: by what they
// cost ([HostCosts]), and to the end of what they wait for. [cudart.Runtime.Now] is the time
// of the calling thread. The machine is driven only as far as some thread asks: by a
// wait until that is over, by a query to the thread's own time. So a Go function of
// a kernel does not run before somebody waits for it by a call of the runtime.
//
// With one thread at work everything is exact and repeats to the nanosecond. With
// several, who makes which call first is still decided by Go's scheduler: a command
// begins when its own thread, its stream, and what it waits for say, but where several
// compete (for a copy engine, a link, the driver's lock) one that is submitted after
// the machine was driven past it comes late. See docs/simulator.md.
//
// A kernel that waits for the host has to call [cudart.KernelCall.Yield] while it does;
// nothing else happens until it returns or yields.
func Virtual() Clock { return virtualClock{} }

type virtualClock struct{}

func (virtualClock) drive(r *simulator) executor {
	v := &virtual{sim: r, top: r.topology, lanes: map[int]*lane{}}
	v.changed.L = &v.mu
	for i := range v.top.Links {
		v.links = append(v.links, &pipe{rate: rateOf(v.top.Links[i].Bandwidth)})
	}
	for i := range v.top.GPUs {
		v.gpus = append(v.gpus, newGPU(&v.top.GPUs[i]))
	}
	v.thread, v.work = threadID, v.loop
	r.virtual = v
	r.exact = true // what is done may be ahead of the thread that waits for it
	return v
}

// virtual drives a machine in virtual time: a heap of what happens next, one entry for
// each stream at most, worked through by one goroutine as long as somebody waits.
type virtual struct {
	sim    *simulator
	top    *Topology
	links  []*pipe
	gpus   []*gpu
	thread func() int // number of the calling thread
	work   func()     // loop: bound once, since binding allocates

	mu      sync.Mutex // a leaf
	changed sync.Cond  // something that a host thread waits for
	agenda  agenda
	fresh   []*course // made ready, and not looked at yet
	latest  int64     // time of the latest thing that happened
	waiting int       // host threads that wait for a stream
	until   int64     // to where a host thread wants all to have happened
	running bool      // the goroutine
	busy    *course   // in its hands, with mu open
	dropped bool      // what was parked when the machine was lost
	spare   *runner
	idle    []*hostWait // to be used again

	at atomic.Int64 // of what happens just now, for stamps

	hosts sync.RWMutex // guards lanes
	lanes map[int]*lane
	lock  driverLock
}

func (v *virtual) attach(s *stream) {
	v.mu.Lock()
	defer v.mu.Unlock()
	g := v.gpus[s.ctx.device.info.Ordinal]
	c := &course{s: s, gpu: g, id: s.born, queue: g.queues[0]}
	for _, q := range g.queues {
		if q.streams < c.queue.streams {
			c.queue = q
		}
	}
	c.queue.streams++
	s.course = c
}

// detach gives back the place in a hardware queue.
func (v *virtual) detach(s *stream) {
	v.mu.Lock()
	s.course.queue.streams--
	v.mu.Unlock()
}

func (v *virtual) ready(s *stream) {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := s.course
	if c.held {
		c.held = false
		c.free = max(c.free, v.at.Load()+int64(v.top.Hop))
	}
	v.fresh = append(v.fresh, c)
	if v.waiting > 0 {
		v.run()
	}
}

// close drops what is queued. A kernel that has yielded runs until it does so again.
func (v *virtual) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.waiting++
	for v.running || len(v.agenda) > 0 || len(v.fresh) > 0 || v.spare != nil {
		v.run()
		v.changed.Wait()
	}
	v.waiting--
}

// run starts the goroutine, if it does not run. The caller holds mu.
func (v *virtual) run() {
	if !v.running {
		v.running = true
		go v.work()
	}
}

// loop does what happens, in order of time, as long as somebody waits for it.
func (v *virtual) loop() {
	returned := false
	defer func() {
		if returned {
			return
		}
		// A kernel ended the goroutine, and lost the machine: another one drops the rest.
		v.mu.Lock()
		c := v.busy
		v.busy, c.kernel = nil, nil
		c.phase = ending
		v.happens(c, c.at)
		go v.work()
		v.mu.Unlock()
	}()
	v.mu.Lock()
	for {
		if len(v.fresh) > 0 {
			c := v.fresh[len(v.fresh)-1]
			v.fresh = v.fresh[:len(v.fresh)-1]
			v.lookOn(c, false)
			continue
		}
		if v.sim.lost.Load() != nil && !v.dropped {
			v.dropParked()
		}
		if len(v.agenda) == 0 || v.waiting == 0 && v.agenda[0].at > v.until {
			break
		}
		v.do(v.agenda.pop())
	}
	if v.dropped && v.spare != nil {
		v.spare.stop() // here: a coroutine is not for threads that are locked
		v.spare = nil
	}
	v.running = false
	v.changed.Broadcast()
	v.mu.Unlock()
	returned = true
}

// lookOn finds when the stream's next command begins, where it has one; first, if told to,
// it does the command whose time is over. It opens mu for that: what it calls may take
// any lock, and ask for the clock.
func (v *virtual) lookOn(c *course, do bool) (done, yielded bool) {
	v.busy = c
	v.mu.Unlock()
	if do {
		done, yielded = v.step(c)
	}
	var it *item
	if done || !do {
		it = c.s.head()
	}
	v.mu.Lock()
	v.busy = nil
	if it != nil {
		c.phase = starting
		v.happens(c, max(c.free, it.issued+int64(v.top.Start)))
	}
	return done, yielded
}

// do does what happens to a stream at its time. It is called with mu.
func (v *virtual) do(c *course) {
	t := c.at
	v.latest = max(v.latest, t)
	v.at.Store(t)
	switch c.phase {
	case starting:
		v.begin(c, t)
	case moving:
		v.startFlow(c, c.bytes, t)
	case ending:
		v.end(c, t)
	}
}

// end does the command, whose time is over, and gives back what it held.
func (v *virtual) end(c *course, t int64) {
	if len(c.pipes) > 0 {
		v.endFlow(c, t)
	}
	it := &c.s.current.items[c.s.at]
	if it.op == cudart.OpWait {
		c.held = true
		c.free = max(t, it.wait.stream.course.free) // a late one comes after what it waited for
	} else {
		c.free = t
	}
	done, yielded := v.lookOn(c, true)
	switch {
	case yielded:
		c.phase = ending
		v.happens(c, t+int64(c.kernel.aside))
		return
	case !done: // held at a wait, or by a fault: it may be somebody else's by now
		return
	}
	c.held = false
	v.giveBack(c, t)
	v.tell(c, t)
}

// step does the next command of a stream, a kernel on a coroutine.
func (v *virtual) step(c *course) (done, yielded bool) {
	if c.trap != nil {
		v.sim.lose(c.trap)
		c.trap = nil
	}
	if c.s.current.items[c.s.at].op != cudart.OpLaunch {
		return c.s.step(), false
	}
	r := c.kernel
	if r == nil {
		if r = v.spare; r == nil {
			r = newRunner()
		}
		v.spare = nil
		c.kernel, r.stream = r, c.s
	}
	r.next()
	if !r.finished {
		return false, true
	}
	c.kernel = nil
	if v.spare == nil {
		v.spare = r
	} else {
		r.stop()
	}
	return r.done, false
}
