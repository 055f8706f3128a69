package transfer

import (
	"sync"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	"github.com/gpuactor/gpuactor/device"
)

// edge is an order between two streams, by the names that a test gave them. The
// stream of a device's own transfer actor is "carrier".
type edge struct{ waiter, for_ string }

// edges is a runtime that knows which stream waits for which, counts, and leaves out
// the edges that it is told to: a test shows with it what an edge is good for.
type edges struct {
	cudart.Runtime

	mu       sync.Mutex
	names    map[cudart.Stream]string
	recorded map[cudart.Event]string // on whose stream, last
	waits    map[edge]int
	records  map[string]int
	copies   map[string]int
	stream   map[string]cudart.Stream // who has copied: its stream and context
	context  map[string]cudart.Context

	without edge   // these waits never reach the runtime
	lie     string // events recorded on this stream are said to be complete
	refuse  func(cudart.Command) bool
}

func newEdges(rt cudart.Runtime) *edges {
	e := &edges{Runtime: rt, names: map[cudart.Stream]string{}, recorded: map[cudart.Event]string{}}
	e.reset()
	return e
}

// reset counts anew.
func (e *edges) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waits, e.records, e.copies = map[edge]int{}, map[string]int{}, map[string]int{}
	e.stream, e.context = map[string]cudart.Stream{}, map[string]cudart.Context{}
}

func (e *edges) name(s *device.Stream) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.names[s.Handle()] = s.Name()
}

func (e *edges) nameOf(s cudart.Stream) string {
	if n, ok := e.names[s]; ok {
		return n
	}
	return "carrier"
}

var errRefused = &cudart.Error{Code: cudart.ErrInvalidValue, Call: "test", Text: "refused by the test"}

func (e *edges) Submit(ctx cudart.Context, s cudart.Stream, l *cudart.List) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	who := e.nameOf(s)
	e.stream[who], e.context[who] = s, ctx
	i, refused := -1, -1
	kept := cudarttest.Without(e.Runtime, func(c cudart.Command) bool {
		i++
		switch {
		case refused < 0 && e.refuse != nil && e.refuse(c):
			refused = i
			return true
		case refused >= 0 && c.Op.Effect():
			return true
		}
		switch c.Op {
		case cudart.OpRecord:
			e.recorded[c.Event] = who
			e.records[who]++
		case cudart.OpCopyPeer:
			e.copies[who]++
		case cudart.OpWait:
			w := edge{who, e.recorded[c.Event]}
			e.waits[w]++
			return w == e.without
		}
		return false
	})
	if i, err := kept.Submit(ctx, s, l); err != nil || refused < 0 {
		return i, err
	}
	return refused, errRefused
}

func (e *edges) QueryEvent(ev cudart.Event) (bool, error) {
	e.mu.Lock()
	lie := e.lie != "" && e.recorded[ev] == e.lie
	e.mu.Unlock()
	if lie {
		return true, nil
	}
	return e.Runtime.QueryEvent(ev)
}

// dropped is how many waits of the edge that is left out there were.
func (e *edges) dropped() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.waits[e.without]
}

// finish waits until a stream has done what it was given, in the runtime itself.
func (r *rig) finish(who string) {
	r.Helper()
	r.edges.mu.Lock()
	s, ctx := r.edges.stream[who], r.edges.context[who]
	r.edges.mu.Unlock()
	for _, d := range r.sys.Devices() {
		if d.Context() == ctx {
			r.ok(d.Do(func() error { return r.edges.Runtime.SynchronizeStream(ctx, s) }))
			return
		}
	}
	r.Fatalf("%s was given nothing", who)
}

// longest is after what time a gate that nobody opens does so itself.
const longest = 20 * time.Second

// refuseAll has every launch and every peer copy refused, or none.
func (e *edges) refuseAll(all bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refuse = nil
	if all {
		e.refuse = func(c cudart.Command) bool { return c.Op == cudart.OpLaunch || c.Op == cudart.OpCopyPeer }
	}
}

// tellTheTruth ends the lie.
func (e *edges) tellTheTruth() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lie = ""
}

// copied states on whose streams copies were issued, one each.
func (r *rig) copied(names ...string) {
	r.Helper()
	want := map[string]int{}
	for _, n := range names {
		want[n]++
	}
	r.edges.mu.Lock()
	defer r.edges.mu.Unlock()
	if !equal(r.edges.copies, want) {
		r.Errorf("copies %v, want %v", r.edges.copies, want)
	}
}
