package device

import (
	"errors"

	"github.com/gpuactor/gpuactor/cudart"
)

// A stream launches the kernels that it launches often by executable graphs of one
// kernel each, which takes the driver about half the time (docs/performance.md): one
// stream cannot have the graph of another, since a graph's launches run one after the
// other.
const (
	graphSlots = 16 // kernels of a stream that may have a graph
	graphAfter = 32 // launches before a graph is made, which costs about as much as ten

	// graphThreads is how many threads may be at work on a device while graphs are
	// used: the driver holds one lock for all of a graph's launch, so that from three
	// threads on plain launches are faster together.
	graphThreads = 2
)

// byGraph decides whether a kernel that a stream has launched that often is launched
// by a graph.
func byGraph(launched int, working int32) bool {
	return launched >= graphAfter && working <= graphThreads
}

// launchSlot is a kernel that a stream launches, and its graph, if there is one.
type launchSlot struct {
	fn       *function
	launched int
	asked    bool // the runtime was asked for a graph
	graph    cudart.LaunchGraph
}

// launchBy is the graph by which to launch fn now, zero for none. The owner's thread
// calls it, with the device's context current.
func (s *Stream) launchBy(id int, fn *function, args int) cudart.LaunchGraph {
	e := &s.launches[id%graphSlots]
	if e.fn != fn {
		if e = s.launchSlot(id, fn); e == nil {
			return cudart.LaunchGraph{}
		}
	}
	if e.launched < graphAfter {
		e.launched++
	}
	if !byGraph(e.launched, s.d.working.Load()) {
		return cudart.LaunchGraph{}
	}
	if !e.asked {
		e.asked = true
		// One that cannot be made is done without.
		e.graph, _ = s.d.rt.InstantiateLaunch(s.d.ctx, fn.f, args)
	}
	return e.graph
}

// launchSlot finds the slot of fn beside its first place, or takes a free one for it;
// nil where there is none. The kernels that a stream launched first keep their places.
func (s *Stream) launchSlot(id int, fn *function) *launchSlot {
	for i := range graphSlots {
		e := &s.launches[(id+i)%graphSlots]
		if e.fn == nil {
			e.fn = fn
		}
		if e.fn == fn {
			return e
		}
	}
	return nil
}

// destroyGraphs destroys the stream's graphs, when its work is done.
func (s *Stream) destroyGraphs() error {
	var errs []error
	for i := range s.launches {
		if g := s.launches[i].graph; g.Exec != 0 {
			errs = append(errs, s.d.rt.DestroyLaunch(s.d.ctx, g))
		}
	}
	s.launches = [graphSlots]launchSlot{}
	return errors.Join(errs...)
}

// Working counts threads that are at work on the device, neither parked nor ended: n
// more, or less. Any goroutine may call it.
func (d *Device) Working(n int) { d.working.Add(int32(n)) }
