package actortest

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/actor/internal/seam"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// conductor serves the actors of all threads of a system, on a goroutine of its own
// that stays on one OS thread. Between two turns everybody else comes to rest.
type conductor struct {
	picks   picker
	clock   *sim.Steps
	verbose bool
	wake    chan struct{}
	stop    chan struct{}
	done    chan struct{}

	mu    sync.Mutex
	fresh []seam.Thread // handed over, and not begun

	// The goroutine's. Others look at them only when it has come to rest.
	thread  int // of the operating system
	threads []seam.Thread
	bound   seam.Thread  // whose context is current
	serving *move        // whose turn it is
	busy    []seam.Actor // who seems to run meanwhile: at most one
	last    uint64       // who had the turn before
	vain    int          // asks in a row that brought nothing
	moves   []move       // scratch, as are the two below
	actors  []seam.Actor
	names   seam.Chans

	choices int
	made    Schedule // what was chosen
	notes   notes
}

// move is something that can be done next: a turn of an actor, or (nil) a question to
// the GPU on behalf of a thread's.
type move struct {
	thread seam.Thread
	at     int // of threads
	actor  seam.Actor
}

func newConductor(p picker, clock *sim.Steps, verbose bool) *conductor {
	return &conductor{
		picks: p, clock: clock, verbose: verbose,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// runnerOption has a system's threads handed over to k.
func runnerOption(k *conductor) actor.Option { return seam.Option(k).(actor.Option) }

// Wake is part of seam.Runner.
func (k *conductor) Wake() chan struct{} { return k.wake }

// Start is part of seam.Runner.
func (k *conductor) Start(t seam.Thread) {
	k.mu.Lock()
	k.fresh = append(k.fresh, t)
	k.mu.Unlock()
	k.tell()
}

// Here is part of seam.Runner.
func (k *conductor) Here() bool { return !threadsKnown || k.thread == threadID() }

// GiveWay is part of seam.Runner.
func (k *conductor) GiveWay() bool {
	synctest.Wait() // whoever the actor's own code woke, and contexts that it cancelled
	return k.choose(whether, 2) == 1
}

func (k *conductor) tell() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run is the goroutine.
func (k *conductor) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(k.done)
	k.thread = threadID()
	conductors.Store(k.thread, k)
	defer conductors.Delete(k.thread)
	k.loop()
}

// end has the goroutine end.
func (k *conductor) end() {
	close(k.stop)
	<-k.done
}

// loop goes on until it is told to end. runtime.Goexit in an actor's code goes on here,
// and cannot be taken back: so the loop goes on in the deferred call.
func (k *conductor) loop() {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			panic(v)
		}
		if !returned {
			k.serving.thread.AfterGoexit()
			k.served()
			k.loop()
		}
	}()
	for k.step() {
	}
	returned = true
}

// patience is how many questions to the GPU may be in vain, with nobody else ready, until
// time has to pass; then it may be a few each time.
const (
	patience = 2048
	again    = 64
)

// step does one thing, or waits for something to do.
func (k *conductor) step() bool {
	if k.vain == 0 || k.vain%64 == 0 { // a question in vain wakes nobody
		synctest.Wait()
	}
	select {
	case <-k.stop:
		return false
	default:
	}
	k.admit()
	k.find()
	n := len(k.moves)
	if n == 0 {
		k.pause(0)
		return true
	}
	if k.vain >= patience && k.moves[0].actor == nil {
		k.pause(time.Microsecond << min((k.vain-patience)/again, 50))
	}
	k.do(&k.moves[k.choose(who, n)])
	return true
}

// admit begins the threads that were handed over.
func (k *conductor) admit() {
	k.mu.Lock()
	fresh := k.fresh
	k.fresh = nil
	k.mu.Unlock()
	for _, t := range fresh {
		if err := t.Begin(); err != nil {
			panic(err)
		}
		k.bound = t
		k.threads = append(k.threads, t)
	}
}

// find lists what can be done next, first what the calmest order would do: who had
// the last turn, then the others by number, then questions to the GPU. Threads that have
// nothing more to do end.
func (k *conductor) find() {
	k.moves = k.moves[:0]
	for at, t := range k.threads {
		k.actors = t.Ready(k.actors[:0])
		for _, a := range k.actors {
			k.moves = append(k.moves, move{t, at, a})
		}
		if t.Polls() {
			k.moves = append(k.moves, move{t, at, nil})
		} else if len(k.actors) == 0 && t.MayEnd() {
			t.End()
			k.bound = nil
			k.threads[at] = nil
		}
	}
	k.threads = slices.DeleteFunc(k.threads, func(t seam.Thread) bool { return t == nil })
	slices.SortFunc(k.moves, func(a, b move) int { return cmp.Compare(k.rank(a), k.rank(b)) })
}

func (k *conductor) rank(m move) uint64 {
	if m.actor != nil && m.actor.Number() == k.last {
		return 0
	}
	return m.id()
}

// id tells moves apart: the actor's number, or a larger one.
func (m move) id() uint64 {
	if m.actor == nil {
		return 1<<63 + uint64(m.at)
	}
	return m.actor.Number()
}

// do makes a move.
func (k *conductor) do(m *move) {
	if k.bound != m.thread {
		if err := m.thread.Bind(); err != nil {
			panic(err)
		}
		k.bound = m.thread
	}
	if m.actor == nil {
		if m.thread.Ask() {
			k.vain = 0
		} else {
			k.vain++
		}
		k.note(m)
		return
	}
	k.vain = 0
	k.last = m.actor.Number()
	k.pretend(m)
	k.serving = m
	m.thread.Serve(m.actor.Number())
	k.served()
}

// served ends a turn.
func (k *conductor) served() {
	m := k.serving
	k.serving = nil
	k.note(m)
	for _, a := range k.busy {
		a.Busy(false)
	}
	k.busy = k.busy[:0]
}

// choose asks for a choice, where there is one, and notes what it is.
func (k *conductor) choose(q question, n int) int {
	if n < 2 {
		return 0
	}
	k.choices++
	i := k.picks.pick(k, q, k.choices, n)
	if i != 0 {
		k.made.forced = append(k.made.forced, forced{k.choices, i})
	}
	return i
}

// pretend has an actor of another thread seem busy while m's actor has its turn, where
// that is chosen: then what others want from it is a message, as it is where each thread
// is a thread.
func (k *conductor) pretend(m *move) {
	k.actors = k.actors[:0]
	for _, t := range k.threads {
		if t != m.thread {
			k.actors = t.All(k.actors)
		}
	}
	slices.SortFunc(k.actors, func(a, b seam.Actor) int { return cmp.Compare(a.Number(), b.Number()) })
	if i := k.choose(whoIsBusy, 1+len(k.actors)); i > 0 {
		k.busy = append(k.busy, k.actors[i-1])
		k.actors[i-1].Busy(true)
	}
}

// pause waits for something to do: for ever, or for some time.
func (k *conductor) pause(d time.Duration) {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	began := time.Now()
	select {
	case <-k.wake:
	case <-k.stop:
	case <-over:
	}
	k.passed(time.Since(began))
}

var conductors sync.Map // OS thread → *conductor

// settle is called when an ordinary goroutine was woken. In the middle of a turn it
// comes to rest before the turn goes on, or the two would run beside each other.
func settle() {
	if k, ok := conductors.Load(threadID()); ok && k.(*conductor).serving != nil {
		synctest.Wait()
	}
}

func init() {
	if threadsKnown {
		seam.Woke = settle
	}
}
