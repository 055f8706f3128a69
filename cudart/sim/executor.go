package sim

import "sync/atomic"

// executor decides when the next command of a stream runs, by calling step.
type executor interface {
	// attach prepares a new stream.
	attach(s *stream)
	// ready hands over a stream that has something to do, until step says
	// that it has no more or is held. It does not run anything itself.
	ready(s *stream)
	// close returns when no command runs; the machine is lost by then.
	close()
}

// goroutines runs each ready stream on a goroutine of its own, in real time.
type goroutines struct {
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
