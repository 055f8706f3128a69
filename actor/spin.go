package actor

import (
	"sync/atomic"
	"time"
)

// Policy says how much CPU time a system's threads spend on being quick. Waking a
// parked thread costs 15–60 µs, one that spins 0.2 µs.
type Policy int

// The policies. Balanced is the default.
const (
	Balanced Policy = iota // spin for a short time that adapts to what it is good for
	Latency                // spin for long
	Frugal                 // never spin
)

func (p Policy) String() string { return [...]string{"balanced", "latency", "frugal"}[p] }

// WithPolicy chooses how eagerly threads wait.
func WithPolicy(p Policy) Option { return func(c *config) { c.policy = p } }

const (
	shortestSpin = 4 * time.Microsecond
	longestSpin  = 64 * time.Microsecond // balanced: about what a wake-up costs; spinning for longer cannot pay
	latencySpin  = time.Millisecond
)

// nextSpin decides how long a thread spins the next time, after a spin of the
// given limit that work ended (hit) or that was for nothing.
func nextSpin(p Policy, limit time.Duration, hit bool) time.Duration {
	switch {
	case p == Frugal:
		return 0
	case p == Latency:
		return latencySpin
	case hit:
		return min(max(2*limit, shortestSpin), longestSpin)
	}
	return max(limit/2, shortestSpin)
}

// afterPark decides the same after a park of the given length: one that spinning for
// longer would have saved makes the next spin long. Otherwise two threads that once
// began to park would go on, each taking longer to wake than the other spins.
func afterPark(p Policy, limit, parked time.Duration) time.Duration {
	if p == Balanced && parked < 4*longestSpin {
		return longestSpin
	}
	return limit
}

// pauseAfter decides how long a thread that has waited for the GPU for a time sleeps
// until it asks again: a part of that time, so that it notices the end late by a part
// of it, and a long wait costs few queries. A pause costs about 5 µs of CPU time, with
// its query.
func pauseAfter(p Policy, waited time.Duration) time.Duration {
	c := [...]struct {
		part        time.Duration
		first, last time.Duration
	}{
		Balanced: {256, 10 * time.Microsecond, time.Millisecond},
		Latency:  {256, 5 * time.Microsecond, 250 * time.Microsecond},
		Frugal:   {16, 20 * time.Microsecond, 5 * time.Millisecond},
	}[p]
	return min(max(waited/c.part, c.first), c.last)
}

// nappers is how many threads of the process nap now. Few may: each keeps a processor
// of Go's while it sleeps, until the runtime notices.
var nappers atomic.Int32

// mayNap decides how many may nap at once; for others a timer will do.
func mayNap(procs int) int32 {
	if !canNap {
		return 0
	}
	return int32(procs / 2)
}

// spinners is how many threads of the process spin now. Few may: each keeps a
// processor from the goroutines that would bring it work.
var spinners atomic.Int32

// maySpin decides how many may spin at once: none where that leaves no processor
// to do the work.
func maySpin(procs int) int32 {
	if procs <= 2 {
		return 0
	}
	return int32(min(procs/2, 8))
}

// spin looks for work for a while, without giving up the processor, and reports
// whether some came. It does not where ordinary goroutines were made ready: the last one
// is kept for this processor, and others take it from one that is busy only after 50 µs.
// Who parks hands it over with the processor.
func (t *Thread) spin() bool {
	if t.gaveWork.Swap(false) || t.sys.policy == Frugal {
		return false
	}
	if spinners.Add(1) > t.sys.maySpin {
		spinners.Add(-1)
		return false
	}
	defer spinners.Add(-1)
	limit := t.spinLimit
	hit := t.watch(limit)
	t.spinLimit = nextSpin(t.sys.policy, limit, hit)
	return hit
}

// watch looks at what is posted, and asks for those who wait for the GPU.
func (t *Thread) watch(limit time.Duration) bool {
	start := time.Now()
	for i := 1; ; i++ {
		if t.incoming.Load() > 0 {
			return true
		}
		if t.ask(askAtOnce) {
			return true
		}
		if i%16 == 0 && time.Since(start) > limit {
			return false
		}
	}
}
