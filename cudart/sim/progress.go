package sim

import (
	"math"
	"sync"
	"sync/atomic"
)

// progress is how far a stream has come, and who waits for it to come further:
// other streams, held at a wait, and threads of the host.
type progress struct {
	done    atomic.Uint64 // commands completed
	watched atomic.Bool   // somebody waits (I4)

	mu    sync.Mutex
	cond  sync.Cond
	held  *stream // the first of the streams that wait, linked by nextHeld
	hosts int
	least uint64 // the least that a host thread waits for
}

func (p *progress) init() {
	p.cond.L = &p.mu
	p.least = math.MaxUint64
}

// reach says that n commands are completed.
func (p *progress) reach(n uint64, x executor) {
	p.done.Store(n)
	if p.watched.Load() {
		p.wake(x, false)
	}
}

// hold makes s wait until n are done. It reports whether s is held: from then on
// whoever wakes it has it (I3). A lost machine holds nobody.
func (p *progress) hold(s *stream, n uint64) bool {
	if p.done.Load() >= n {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watched.Store(true)
	if p.done.Load() >= n || s.sim.lost.Load() != nil {
		p.watched.Store(p.held != nil || p.hosts > 0)
		return false
	}
	s.heldFor, s.nextHeld, p.held = n, p.held, s
	return true
}

// wake gives the streams whose wait is over to the executor, and wakes host
// threads if one of them can go on; all of either when nothing will be done
// any more.
func (p *progress) wake(x executor, all bool) {
	p.mu.Lock()
	done := p.done.Load()
	var over *stream
	for at := &p.held; *at != nil; {
		s := *at
		if !all && s.heldFor > done {
			at = &s.nextHeld
			continue
		}
		*at = s.nextHeld
		s.nextHeld, over = over, s
	}
	if p.hosts > 0 && (all || p.least <= done) {
		p.least = math.MaxUint64 // who goes on waiting lowers it again
		p.cond.Broadcast()
	}
	p.watched.Store(p.held != nil || p.hosts > 0)
	p.mu.Unlock()
	for over != nil {
		s := over
		over, s.nextHeld = s.nextHeld, nil
		x.ready(s)
	}
}

// await blocks the calling thread until n are done, or never will be.
func (p *progress) await(n uint64, lost *atomic.Pointer[loss]) {
	if p.done.Load() >= n {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hosts++
	p.watched.Store(true)
	for p.done.Load() < n && lost.Load() == nil {
		p.least = min(p.least, n)
		p.cond.Wait()
	}
	p.hosts--
}
