package sim

import (
	"runtime"
	"sync/atomic"
	"time"
)

// executor decides when the next command of a stream runs, by calling step.
type executor interface {
	// attach prepares a new stream.
	attach(s *stream)
	// ready hands over a stream that has something to do, until step says
	// that it has no more or is held. It does not run anything itself.
	ready(s *stream)
	// await blocks the calling thread until s has done n commands, or never will.
	await(s *stream, n uint64)
	// turn is a place in the host's program where the device may do something: a
	// call begins, which asks about e if that is not nil, or (call is "") the host
	// goes on behind one. No lock is held.
	turn(call string, e *event)
	// vain is told of a query of p that was in vain, the polls-th since the record.
	vain(p point, polls uint)
	// now is the time since the machine was made.
	now() time.Duration
	// close returns when no command runs; the machine is lost by then.
	close()
}

// realTime is the part of an executor that leaves everything to the processor.
type realTime struct{ start time.Time }

func (realTime) await(s *stream, n uint64) { s.progress.await(n, &s.sim.lost) }
func (realTime) turn(string, *event)       {}
func (x realTime) now() time.Duration      { return time.Since(x.start) }

// patience is how many queries in vain go by between two that yield.
const patience = 256

// vain gives way now and then. On hardware a thread that does nothing but poll takes
// nothing from the GPU; here it could take the processor that the stream would
// run on.
func (realTime) vain(_ point, polls uint) {
	if polls%patience == 0 {
		runtime.Gosched()
	}
}

// goroutines runs each ready stream on a goroutine of its own, in real time.
type goroutines struct {
	realTime
	running atomic.Int64
	closing atomic.Bool
	idle    chan struct{} // of one: the last goroutine tells close
}

func (x *goroutines) attach(s *stream) { s.work = func() { x.run(s) } }

func (x *goroutines) ready(s *stream) {
	x.running.Add(1)
	go s.work()
}

// run is what a stream's goroutine does. Its last step gives the stream away,
// so s is not looked at behind it.
func (x *goroutines) run(s *stream) {
	returned := false
	defer func() {
		if !returned { // a kernel ended the goroutine: another one drops the rest
			x.ready(s)
		}
		if x.running.Add(-1) == 0 && x.closing.Load() {
			select {
			case x.idle <- struct{}{}:
			default:
			}
		}
	}()
	for s.step() {
	}
	returned = true
}

func (x *goroutines) close() {
	x.closing.Store(true)
	for x.running.Load() > 0 {
		<-x.idle
	}
}
