package sim

import (
	"iter"
	"runtime"
	"time"
)

// pacer is an executor in whose time kernels wait and take their time.
type pacer interface {
	yield(s *stream)
	spend(s *stream, d time.Duration)
}

// Yield and Spend are cudart.Pace. On a machine that is lost, what a kernel waits for may
// never come: it ends there.
func (v *resolver) Yield() {
	if v.stream.sim.lost.Load() != nil {
		panic(ended{})
	}
	if x, ok := v.stream.sim.exec.(pacer); ok {
		x.yield(v.stream)
		return
	}
	runtime.Gosched()
}

func (v *resolver) Spend(d time.Duration) {
	if x, ok := v.stream.sim.exec.(pacer); ok {
		x.spend(v.stream, d)
		return
	}
	for end := time.Now().Add(d); time.Now().Before(end); {
		runtime.Gosched()
	}
}

// spin is how often a kernel that yields is asked again.
const spin = time.Microsecond

func (v *virtual) yield(s *stream) {
	v.spend(s, spin)
	runtime.Gosched() // what it waits for is another goroutine's affair
}

// spend puts the kernel aside. It holds what it holds, and goes on at its time.
func (v *virtual) spend(s *stream, d time.Duration) {
	r := s.course.kernel
	r.aside = max(d, 0)
	r.yield(struct{}{})
}

// runner runs steps of streams as a coroutine, so that a kernel can be put aside in the
// middle. It is used again when the kernel has returned.
type runner struct {
	stream   *stream
	finished bool          // the step, and so what next has left
	done     bool          // what it returned
	aside    time.Duration // for how long the kernel is put aside, where the step has not finished
	resume   func() (struct{}, bool)
	stop     func()
	yield    func(struct{}) bool
}

func newRunner() *runner {
	r := &runner{}
	r.resume, r.stop = iter.Pull(func(yield func(struct{}) bool) {
		r.yield = yield
		for {
			r.done = r.stream.step()
			r.finished = true
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return r
}

// next goes on until the step has finished, or yields.
func (r *runner) next() {
	r.finished = false
	r.resume()
}
