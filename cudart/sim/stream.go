package sim

import (
	"cmp"
	"sync"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
)

// stream is a queue of commands: a batch that submissions add to, and one that
// the executor works through. When that is done they change places, so queueing
// allocates nothing once both have grown.
type stream struct {
	sim    *simulator
	ctx    *context
	handle cudart.Stream
	born   uint64 // streams made before it
	work   func() // the executor's: bound once, since binding allocates

	member *member // of its context's defaults; nil for a non-blocking stream

	mu        sync.Mutex
	pending   batch
	submitted uint64
	active    bool // the executor has it, or another stream's progress (I3)
	retired   bool // destroyed; forgotten as soon as it is not active

	lastFree atomic.Uint64 // number of the last free submitted
	progress progress
	course   *course // in virtual time; else nil
	issued   int64   // in virtual time: when the latest command was; guarded by mu

	// Of whoever has the stream (I3): mostly its executor.
	current  batch
	at       int    // index in current of the next command
	asked    uint64 // number of the last command that rules were asked about: see hangs
	before   uint64 // commands completed before current
	call     cudart.KernelCall
	resolver resolver

	// Of the progress that holds it.
	nextHeld *stream
	heldFor  uint64
}

// batch is a run of checked commands.
type batch struct {
	words []uint64
	items []item
}

// item is a command with its handles resolved, as they were at submission.
type item struct {
	op       cudart.Op
	from, to int // in words; none for a wait or a record
	wait     point
	event    *event
	function *function
	spoils   bool   // a fill that is an allocation's; see allocated
	issued   int64  // in virtual time: when it was submitted
	ticket   uint64 // in virtual time, of a launch: its place in a hardware queue
}

const keepWords = 1 << 20 // a batch that grew beyond this is not kept

func (b *batch) reset() {
	if cap(b.words) > keepWords {
		*b = batch{}
		return
	}
	clear(b.items) // lets go of what they point at
	b.words, b.items = b.words[:0], b.items[:0]
}

// push queues a command and gives it its number. The caller holds mu.
func (s *stream) push(it item, words []uint64) {
	if s.course != nil {
		s.course.number(&it, s.issued)
	}
	it.from = len(s.pending.words)
	s.pending.words = append(s.pending.words, words...)
	it.to = len(s.pending.words)
	s.pending.items = append(s.pending.items, it)
	s.submitted++
}

// start makes the stream active if it has become so. The caller holds mu, and
// calls the executor's ready behind it where true.
func (s *stream) start() bool {
	if s.active || len(s.pending.items) == 0 {
		return false
	}
	s.active = true
	return true
}

// byNumber is the order in which streams were made.
func byNumber(a, b *stream) int { return cmp.Compare(a.born, b.born) }

// head is the next command, for executors that do not leave it to step. Nil means
// that the stream was given away, as step says.
func (s *stream) head() *item {
	if s.at == len(s.current.items) && !s.refill() {
		return nil
	}
	return &s.current.items[s.at]
}

// finish says that the command at the head is done.
func (s *stream) finish() {
	s.at++
	s.progress.reach(s.before+uint64(s.at), s.sim.exec)
}

// drop passes over everything up to the next refill (I6).
func (s *stream) drop() {
	s.at = len(s.current.items)
	s.progress.reach(s.before+uint64(s.at), s.sim.exec)
}

// step does the next command. False means that the stream was given away: it has
// nothing to do, or is held at a wait; the caller must not touch it again.
func (s *stream) step() bool {
	it := s.head()
	if it == nil {
		return false
	}
	if s.sim.lost.Load() != nil {
		s.drop()
		return true
	}
	if it.op == cudart.OpWait {
		if it.wait.stream.progress.hold(s, it.wait.number) {
			return false
		}
	} else if f := s.sim.faults.Load(); f != nil && f.hangs(s, it) {
		return false
	} else if l := s.perform(it); l != nil {
		s.sim.lose(l)
		return true
	}
	s.finish()
	return true
}

// refill takes what was submitted in the meantime.
func (s *stream) refill() bool {
	s.mu.Lock()
	s.before += uint64(len(s.current.items))
	s.current.reset()
	s.at = 0
	s.current, s.pending = s.pending, s.current
	more := len(s.current.items) > 0
	s.active = more
	forget := !more && s.retired
	s.mu.Unlock()
	if forget {
		s.sim.forget(s)
	}
	return more
}

// retire lets the stream go when it has nothing more to do.
func (s *stream) retire() {
	s.mu.Lock()
	s.retired = true
	idle := !s.active
	s.mu.Unlock()
	if idle {
		s.sim.forget(s)
	}
}

// await blocks until all that was submitted is done, or never will be.
func (s *stream) await() {
	s.mu.Lock()
	n := s.submitted
	s.mu.Unlock()
	s.sim.exec.await(s, n)
}

func (r *simulator) forget(s *stream) {
	r.mu.Lock()
	delete(r.streams, s)
	r.mu.Unlock()
	if s.course != nil {
		r.virtual.detach(s)
	}
}

func (r *simulator) CreateStream(ctx cudart.Context) (cudart.Stream, error) {
	const call = "cuStreamCreate"
	c, err := r.enter(ctx, call)
	if err != nil {
		return 0, err
	}
	h, _ := r.addStream(c)
	if h == 0 {
		return 0, refuse(cudart.ErrOutOfMemory, call, "too many streams")
	}
	return h, nil
}

// addStream makes a stream; the handle is zero where there are too many.
func (r *simulator) addStream(c *context) (cudart.Stream, *stream) {
	s := &stream{sim: r, ctx: c}
	s.progress.init()
	s.resolver.stream = s
	r.mu.Lock()
	s.born = r.born
	r.born++
	r.streams[s] = struct{}{}
	r.mu.Unlock()
	r.exec.attach(s)
	h := r.streamTable.put(s)
	if h == 0 {
		r.forget(s)
	}
	s.handle = cudart.Stream(h)
	return s.handle, s
}

func (r *simulator) DestroyStream(ctx cudart.Context, h cudart.Stream) error {
	const call = "cuStreamDestroy"
	goOn, err := r.letGo(ctx, call)
	if !goOn {
		return err
	}
	if s := r.streamTable.get(uintptr(h)); s != nil && s.member != nil && s.member.legacy {
		return refuse(cudart.ErrInvalidHandle, call, "a legacy stream is never destroyed")
	}
	s := r.streamTable.take(uintptr(h))
	if s == nil {
		return absent(err, cudart.ErrInvalidHandle, call, "no stream %#x", uintptr(h))
	}
	s.retire()
	if s.member != nil {
		s.member.gone.Store(true)
	}
	return err
}

// stream finds a stream of a context.
func (r *simulator) stream(c *context, h cudart.Stream, call string) (*stream, error) {
	s := r.streamTable.get(uintptr(h))
	if s == nil || s.ctx != c {
		return nil, refuse(cudart.ErrInvalidHandle, call, "no stream %#x in this context", uintptr(h))
	}
	return s, nil
}

func (r *simulator) SynchronizeStream(ctx cudart.Context, h cudart.Stream) error {
	const call = "cuStreamSynchronize"
	c, err := r.enter(ctx, call)
	if err != nil {
		return err
	}
	s, err := r.stream(c, h, call)
	if err != nil {
		return err
	}
	s.awaitOthers()
	s.await()
	return r.lossAt(call)
}
