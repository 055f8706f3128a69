package sim

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// point is everything that a stream was given up to a number. The zero point is
// behind everybody.
type point struct {
	stream *stream
	number uint64
}

func (p point) done() bool { return p.stream == nil || p.stream.progress.done.Load() >= p.number }

// event is a name for the point of its latest record.
type event struct {
	ctx    *context
	timing bool

	told atomic.Int64 // in virtual time: when its latest record was submitted

	mu    sync.Mutex
	last  point
	time  time.Duration // when last was reached, where timing
	polls uint          // queries in vain since the latest record
}

func (e *event) latest() point {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

func (e *event) record(p point) {
	e.mu.Lock()
	e.last, e.polls = p, 0
	e.mu.Unlock()
}

// stamp notes the time of a record that has come to run, unless the event was
// recorded again in the meantime.
func (e *event) stamp(p point, now time.Duration) {
	e.mu.Lock()
	if e.last == p {
		e.time = now
	}
	e.mu.Unlock()
}

func (r *simulator) CreateEvent(ctx cudart.Context, timing bool) (cudart.Event, error) {
	const call = "cuEventCreate"
	c, err := r.enter(ctx, call)
	if err != nil {
		return 0, err
	}
	h := r.eventTable.put(&event{ctx: c, timing: timing})
	if h == 0 {
		return 0, refuse(cudart.ErrOutOfMemory, call, "too many events")
	}
	return cudart.Event(h), nil
}

// DestroyEvent takes the name away. Waits hold points, so they do not notice.
func (r *simulator) DestroyEvent(ctx cudart.Context, h cudart.Event) error {
	const call = "cuEventDestroy"
	goOn, err := r.letGo(ctx, call)
	if goOn && r.eventTable.take(uintptr(h)) == nil {
		return absent(err, cudart.ErrInvalidHandle, call, "no event %#x", uintptr(h))
	}
	return err
}

func (r *simulator) event(h cudart.Event, call string) (*event, error) {
	e := r.eventTable.get(uintptr(h))
	r.exec.turn(call, e)
	if l := r.lost.Load(); l != nil {
		return nil, l.at(call)
	}
	if e == nil {
		return nil, refuse(cudart.ErrInvalidHandle, call, "no event %#x", uintptr(h))
	}
	return e, nil
}

func (r *simulator) QueryEvent(h cudart.Event) (bool, error) {
	const call = "cuEventQuery"
	e, err := r.event(h, call)
	if err == nil {
		err = r.refusal(call, e.ctx.device.info.Ordinal)
	}
	if err != nil {
		return false, err
	}
	done := e.poll(r.exec)
	r.exec.turn("", nil)
	return done, r.lossAt(call) // a point that a loss passed over is not done
}

// poll reports whether the latest record is done.
func (e *event) poll(x executor) bool {
	e.mu.Lock()
	p := e.last
	done := p.done()
	if !done {
		e.polls++
	}
	polls := e.polls
	e.mu.Unlock()
	if !done {
		x.vain(p, polls)
	}
	return done
}

func (r *simulator) Elapsed(start, end cudart.Event) (time.Duration, error) {
	const call = "cuEventElapsedTime"
	if err := r.refusal(call, Any); err != nil {
		return 0, err
	}
	var at [2]time.Duration
	var ctx [2]*context
	ready := true
	for i, h := range [2]cudart.Event{start, end} {
		e, err := r.event(h, call)
		if err != nil {
			return 0, err
		}
		// Under the lock, done before time: a record is stamped before it is done.
		e.mu.Lock()
		recorded, done, t := e.last.stream != nil, e.last.done(), e.time
		e.mu.Unlock()
		if !e.timing || !recorded {
			return 0, refuse(cudart.ErrInvalidHandle, call, "event %#x has no timing or was not recorded", uintptr(h))
		}
		ready = ready && done
		at[i], ctx[i] = t, e.ctx
	}
	if ctx[0] != ctx[1] {
		return 0, refuse(cudart.ErrInvalidHandle, call, "the events are of two contexts")
	}
	if !ready {
		return 0, refuse(cudart.ErrNotReady, call, "a record has not completed")
	}
	return at[1] - at[0], r.lossAt(call)
}
