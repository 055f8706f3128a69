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
	parked   atomic.Bool
	wake     chan struct{}
	done     chan struct{}

	// The loop's.
	taken     []*Stream
	ready     queue[*Stream]
	polls     []*Stream
	current   *Stream
	timer     *time.Timer
	spinLimit time.Duration
	pause     time.Duration
	turns     uint
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
		go t.run()
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

// kick wakes the thread where it is parked.
func (t *Thread) kick() {
	if t.parked.Load() {
		select {
		case t.wake <- struct{}{}:
		default:
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

// run is the thread. It is never unlocked: the OS thread dies with the goroutine,
// where an unlocked one would stay with Go for ever.
func (t *Thread) run() {
	runtime.LockOSThread()
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

// pollEvery is how many turns a thread that is never idle has between two polls: one
// costs about a launch.
const pollEvery = 64

// turn serves one actor, or waits for one to serve.
func (t *Thread) turn() {
	if t.incoming.Load() > 0 {
		t.take()
	}
	if t.turns++; t.turns%pollEvery == 0 && len(t.polls) > 0 {
		t.ask() // those who are always ready must not keep the others from it
	}
	if n := t.ready.len(); n > 0 {
		t.pause = 0
		i := 0
		if n > 1 {
			i = t.sys.order.Next(n)
		}
		t.serve(t.ready.take(i))
		return
	}
	if len(t.polls) > 0 && t.ask() || t.spin() {
		return
	}
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

// ask polls for those who wait for the GPU on the host, and readies the ones that
// have waited long enough.
func (t *Thread) ask() (some bool) {
	kept := t.polls[:0]
	for _, s := range t.polls {
		if s.poll == nil {
			continue // given up
		}
		done, err := s.poll()
		if !done && err == nil {
			kept = append(kept, s)
			continue
		}
		s.poll, s.pollErr = nil, err
		s.unpark()
		some = true
	}
	clear(t.polls[len(kept):])
	t.polls = kept
	return some
}

// polling enters s among those for whom the loop asks.
func (t *Thread) polling(s *Stream) {
	for _, other := range t.polls {
		if other == s {
			return
		}
	}
	t.polls = append(t.polls, s)
}

// The pauses between two polls grow from the one to the other.
const (
	firstPause = 5 * time.Microsecond
	lastPause  = 500 * time.Microsecond
)

// park waits for a post, or for the time of the next poll.
func (t *Thread) park() {
	t.parked.Store(true)
	defer t.parked.Store(false)
	t.d.Working(-1)
	defer t.d.Working(1)
	if t.incoming.Load() > 0 {
		return // posted before we could be seen to be parked
	}
	if len(t.polls) == 0 {
		began := time.Now()
		<-t.wake
		t.spinLimit = afterPark(t.sys.policy, t.spinLimit, time.Since(began))
		return
	}
	t.pause = min(max(2*t.pause, firstPause), lastPause)
	t.timer.Reset(t.pause)
	select {
	case <-t.wake:
		t.timer.Stop()
	case <-t.timer.C:
	}
}
