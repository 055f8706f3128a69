package actor

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpuactor/gpuactor/device"
)

// Thread is an OS thread on which a device's context is current, and the actors
// that run on it, one at a time. By default every actor has one of its own. Actors
// that share one (see [On]) hand over by a switch of coroutines in place of a wake-up,
// as long as none of them blocks outside the library, which would block all.
type Thread struct {
	sys    *System
	d      *device.Device
	shared bool // stays when its last actor ends

	mu     sync.Mutex
	inbox  []*Stream
	actors map[*Stream]struct{}
	close  bool // no actor may join any more

	incoming atomic.Int32 // length of the inbox, or a reason to look again
	sleep    atomic.Int32 // awake, parked or napping
	wake     chan struct{}
	done     chan struct{}

	gaveWork atomic.Bool // ordinary goroutines were made ready here: see spin

	// The loop's.
	taken     []*Stream
	ready     queue[*Stream]
	polls     queue[*Stream] // who waits for the GPU on the host
	asking    time.Time      // when the youngest of these waits began
	asked     time.Time      // when others that were ready had to wait for it last
	quiet     bool           // nobody was served since a spin was for nothing
	current   *Stream
	timer     *time.Timer
	spinLimit time.Duration
	ended     bool
}

// Placement is where an actor runs: a *device.Device (on a thread of its own), or
// what [On] and [Sharing] make.
type Placement interface{ Device() *device.Device }

// Device is the device whose context is current on the thread.
func (t *Thread) Device() *device.Device { return t.d }

// On places an actor on a thread that it shares with others of the device.
func On(t *Thread) Placement { return t }

type sharing struct{ ref *Ref }

func (p sharing) Device() *device.Device { return p.ref.s.t.d }

// Sharing places an actor on the thread and on the CUDA stream of another one:
// their commands are in one order, and a hand-off between them needs no event.
func Sharing(ref *Ref) Placement { return sharing{ref} }

// Order decides which of a thread's actors runs next. It is asked on the thread,
// with the number of those that are ready, first come first, and answers with the
// place of one. It exists so that a simulation can choose by a seed; the default
// takes the first.
type Order interface{ Next(ready int) int }

type firstCome struct{}

func (firstCome) Next(int) int { return 0 }

// NewThread starts a thread for several actors of a device. It ends with the system.
func (sys *System) NewThread(d *device.Device) (*Thread, error) {
	t, err := sys.newThread(d)
	if err == nil {
		t.shared = true
		t.start()
	}
	return t, err
}

func (sys *System) newThread(d *device.Device) (*Thread, error) {
	if d == nil {
		return nil, errors.New("actor: the device is nil")
	}
	if d.Index() >= len(sys.devices) || sys.devices[d.Index()] != d {
		return nil, errors.New("actor: the device belongs to another system")
	}
	t := &Thread{
		sys: sys, d: d,
		wake:      make(chan struct{}, 1),
		done:      make(chan struct{}),
		actors:    map[*Stream]struct{}{},
		timer:     time.NewTimer(time.Hour),
		spinLimit: nextSpin(sys.policy, longestSpin, true),
	}
	t.timer.Stop()
	if sys.runner != nil {
		t.conduct()
	}
	return t, sys.addThread(t)
}

// abandon ends a thread that was made for an actor which was not started.
func (t *Thread) abandon() {
	if !t.shared {
		t.sys.removeThread(t)
		close(t.done)
	}
}

// post queues an actor to be served. Any goroutine may call it.
func (t *Thread) post(s *Stream) {
	t.mu.Lock()
	t.inbox = append(t.inbox, s)
	t.incoming.Add(1)
	t.mu.Unlock()
	t.kick()
}

// How a thread sleeps.
const (
	awake   int32 = iota
	parked        // until the channel or the timer says something
	napping       // in the kernel: see nap
)

// kick wakes the thread where it sleeps.
func (t *Thread) kick() {
	switch t.sleep.Load() {
	case parked:
		select {
		case t.wake <- struct{}{}:
		default:
		}
	case napping:
		if t.sleep.CompareAndSwap(napping, awake) {
			endNap(&t.sleep)
		}
	}
}

// finish ends the thread once it has no actor.
func (t *Thread) finish() {
	t.mu.Lock()
	t.close = true
	t.incoming.Add(1)
	t.mu.Unlock()
	t.kick()
}

// start has the thread begin.
func (t *Thread) start() {
	if r := t.sys.runner; r != nil {
		r.Start(conducted{t})
		return
	}
	go t.run()
}

// run is the thread. It is never unlocked: the OS thread dies with the goroutine,
// where an unlocked one would stay with Go for ever.
func (t *Thread) run() {
	runtime.LockOSThread()
	exactNaps()
	t.d.Working(1)
	defer t.d.Working(-1)
	defer close(t.done)
	defer t.sys.removeThread(t)
	defer func() { _ = t.d.Unbind() }()
	if err := t.d.Bind(); err != nil {
		t.sys.log.Error("actor: thread without a context", "device", t.d.String(), "error", err)
	}
	t.loop()
}

// loop serves actors until the thread ends. runtime.Goexit in an actor's code goes
// on in its resumer, which is this goroutine, and cannot be taken back; so the
// loop goes on inside the deferred call, on the same thread, and the other actors
// notice nothing.
func (t *Thread) loop() {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			panic(v) // of the library itself: not to be survived, and at once
		}
		if !returned {
			t.afterGoexit()
			t.loop()
		}
	}()
	for !t.ended {
		t.turn()
	}
	returned = true
}

// askEvery is how often a thread that is never idle asks for those who wait for the GPU.
const askEvery = 100 * time.Microsecond

// turn serves one actor, or waits for one to serve.
func (t *Thread) turn() {
	if t.incoming.Load() > 0 {
		t.take()
	}
	if t.ready.len() > 0 && t.polls.len() > 0 {
		t.askMeanwhile() // those who are always ready must not keep the others from it
	}
	if n := t.ready.len(); n > 0 {
		t.quiet = false
		i := 0
		if n > 1 {
			i = t.sys.order.Next(n)
		}
		t.serve(t.ready.take(i))
		return
	}
	if t.ask(askAtOnce) || !t.quiet && t.spin() {
		return
	}
	t.quiet = true
	if t.mayEnd() {
		t.ended = true
		return
	}
	t.park()
}

// take moves what has been posted to the ready queue.
func (t *Thread) take() {
	t.mu.Lock()
	t.inbox, t.taken = t.taken[:0], t.inbox
	t.incoming.Store(0)
	t.mu.Unlock()
	for i, s := range t.taken {
		t.ready.push(s)
		t.taken[i] = nil
	}
}

// join enters an actor, from any goroutine.
func (t *Thread) join(s *Stream) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.close {
		return ErrSystemClosed
	}
	t.actors[s] = struct{}{}
	return nil
}

func (t *Thread) leave(s *Stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.actors, s)
}

// mayEnd: a thread of one actor ends with it, a shared one when it is told to.
func (t *Thread) mayEnd() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.actors) > 0 || len(t.inbox) > 0 || t.shared && !t.close {
		return false
	}
	t.close = true
	return true
}

// askAtOnce is how many waits are asked for before the thread looks for something else
// to do: a query costs as much as a tenth of a launch, and a thousand may wait. Where
// there is something else already, the first few that are not over are enough: mostly
// those who came first are first to be done.
const (
	askAtOnce   = 16
	askWhenBusy = 2
)

// askMeanwhile asks while others are ready.
func (t *Thread) askMeanwhile() {
	if now := time.Now(); now.Sub(t.asked) >= askEvery {
		t.asked = now
		t.ask(askWhenBusy)
	}
}

// ask polls for those who wait for the GPU on the host, in turn, until so many were
// not over yet, and readies the ones that have waited long enough.
func (t *Thread) ask(notOver int) (some bool) {
	for n := min(t.polls.len(), askAtOnce); n > 0 && notOver > 0; n-- {
		s := t.polls.take(0)
		if s.poll == nil {
			s.polled = false // given up
			continue
		}
		done, err := s.poll()
		if !done && err == nil {
			t.polls.push(s)
			notOver--
			continue
		}
		s.polled, s.poll, s.pollErr = false, nil, err
		t.resumeSoon(s)
		some = true
	}
	if some && t.quiet {
		t.spinLimit = afterPark(t.sys.policy, t.spinLimit, time.Since(t.asking))
	}
	return some
}

// polling enters s among those for whom the loop asks.
func (t *Thread) polling(s *Stream) {
	t.asking = time.Now()
	if !s.polled {
		s.polled = true
		t.polls.push(s)
	}
}

// resumeSoon is unpark, on the thread itself: it needs neither lock nor wake-up.
func (t *Thread) resumeSoon(s *Stream) {
	s.ready.Store(true)
	if s.up.Load() && s.queued.CompareAndSwap(false, true) {
		t.ready.push(s)
	}
}

// park waits for a post, or for the time of the next poll.
func (t *Thread) park() {
	t.d.Working(-1)
	defer t.d.Working(1)
	began := time.Now()
	if t.polls.len() > 0 {
		t.pause(pauseAfter(t.sys.policy, began.Sub(t.asking)))
		return
	}
	defer t.sleep.Store(awake)
	if t.asleep(parked) {
		<-t.wake
		t.spinLimit = afterPark(t.sys.policy, t.spinLimit, time.Since(began))
	}
}

// asleep says how the thread is about to sleep, and reports whether it may: what was
// posted before that could be seen wakes nobody.
func (t *Thread) asleep(how int32) bool {
	t.sleep.Store(how)
	return t.incoming.Load() == 0
}

// pause waits for a post, at most for d.
func (t *Thread) pause(d time.Duration) {
	defer t.sleep.Store(awake)
	defer nappers.Add(-1)
	if nappers.Add(1) <= t.sys.mayNap {
		if t.asleep(napping) {
			nap(&t.sleep, napping, d)
		}
		return
	}
	if !t.asleep(parked) {
		return
	}
	t.timer.Reset(d)
	select {
	case <-t.wake:
		t.timer.Stop()
	case <-t.timer.C:
	}
}
