package device

import "sync/atomic"

// turnstile lets the threads that launch by graphs into the driver one after the
// other. The driver holds a lock for all of a graph's launch, and who finds it held
// sleeps, which takes longer than the launch; who waits here goes on at once. It is
// good manners and no lock: who has waited for long goes in all the same.
type turnstile struct {
	_    [64]byte
	busy atomic.Uint32
	_    [60]byte
}

// turnTries is how often a thread looks, about the time of two launches by a graph.
const turnTries = 1500

// takesTurns decides whether threads take turns: where just as many are at work as may
// launch by graphs together, and a processor is left while one of them looks.
func takesTurns(working int32, procs int) bool {
	return working == graphThreads && procs > graphThreads
}

// enter waits for the turn, and reports whether it has come: then leave ends it.
func (t *turnstile) enter() bool {
	for range turnTries {
		if t.busy.Load() == 0 && t.busy.CompareAndSwap(0, 1) {
			return true
		}
	}
	return false
}

func (t *turnstile) leave() { t.busy.Store(0) }
