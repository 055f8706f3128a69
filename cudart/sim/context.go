package sim

import (
	"slices"

	"github.com/gpuactor/gpuactor/cudart"
)

// context is what streams, events, modules and pinned memory belong to.
type context struct {
	device  *device
	handle  cudart.Context
	primary bool

	defaults defaults
}

// enter begins a call that needs ctx to be current on this thread. The context
// comes back with the error of a lost machine too, for calls that only let go.
func (r *simulator) enter(ctx cudart.Context, call string) (*context, error) {
	c, err := r.current(ctx, call)
	if err == nil {
		err = r.refusal(call, c.device.info.Ordinal)
	}
	return c, err
}

// current is enter without the rules for calls: those of a list are asked about each
// command.
func (r *simulator) current(ctx cudart.Context, call string) (*context, error) {
	r.exec.turn(call, nil)
	c := r.contextTable.get(uintptr(ctx))
	if l := r.lost.Load(); l != nil {
		return c, l.at(call)
	}
	if threadsKnown {
		if now := r.threads.get(); now != ctx || ctx == 0 {
			return nil, refuse(cudart.ErrInvalidContext, call, "context %#x is not current on this thread, %#x is (a stream's method called from another goroutine than its actor's? GPUACTOR_DEBUG=1 finds it)", uintptr(ctx), uintptr(now))
		}
	}
	if c == nil && ctx == 0 {
		return nil, refuse(cudart.ErrInvalidContext, call, "no context")
	}
	if c == nil {
		return nil, refuse(cudart.ErrContextDestroyed, call, "context %#x", uintptr(ctx))
	}
	return c, nil
}

// letGo begins a call that destroys something: on a lost machine it still does,
// and returns the loss as its error.
func (r *simulator) letGo(ctx cudart.Context, call string) (goOn bool, err error) {
	_, err = r.enter(ctx, call)
	return err == nil || r.lost.Load() != nil, err
}

// absent is the error of a call that finds nothing to let go of: on a lost machine the
// loss is all that is heard, also by who lets go twice.
func absent(lost error, code cudart.Code, call, format string, args ...any) error {
	if lost != nil {
		return lost
	}
	return refuse(code, call, format, args...)
}

func (r *simulator) RetainPrimary(ordinal int) (cudart.Context, error) {
	const call = "cuDevicePrimaryCtxRetain"
	d, err := r.device(ordinal, call)
	if err != nil {
		return 0, err
	}
	if err := r.refusal(call, ordinal); err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.primary == nil {
		c, err := r.newContext(d, call)
		if err != nil {
			return 0, err
		}
		c.primary = true
		d.primary = c
	} else if l := r.lost.Load(); l != nil {
		return 0, l.at(call)
	}
	d.retains++
	return d.primary.handle, nil
}

func (r *simulator) ReleasePrimary(ordinal int) error {
	const call = "cuDevicePrimaryCtxRelease"
	d, err := r.device(ordinal, call)
	if err != nil {
		return err
	}
	if err := r.refusal(call, ordinal); err != nil {
		return err
	}
	r.mu.Lock()
	if d.retains == 0 {
		r.mu.Unlock()
		return refuse(cudart.ErrInvalidContext, call, "the primary context of device %d is not retained", ordinal)
	}
	d.retains--
	var last *context
	if d.retains == 0 {
		last, d.primary = d.primary, nil
	}
	r.mu.Unlock()
	if last != nil {
		r.destroy(last)
	}
	return r.lossAt(call)
}

// newContext needs no lock of its own; it must not be seen before it is whole.
func (r *simulator) newContext(d *device, call string) (*context, error) {
	if l := r.lost.Load(); l != nil {
		return nil, l.at(call)
	}
	c := &context{device: d}
	h := r.contextTable.put(c)
	if h == 0 {
		return nil, refuse(cudart.ErrOutOfMemory, call, "too many contexts")
	}
	c.handle = cudart.Context(h)
	return c, nil
}

func (r *simulator) CreateContext(ordinal int) (cudart.Context, error) {
	const call = "cuCtxCreate"
	d, err := r.device(ordinal, call)
	if err != nil {
		return 0, err
	}
	if err := r.refusal(call, ordinal); err != nil {
		return 0, err
	}
	c, err := r.newContext(d, call)
	if err != nil {
		return 0, err
	}
	return c.handle, nil
}

func (r *simulator) DestroyContext(ctx cudart.Context) error {
	const call = "cuCtxDestroy"
	c := r.contextTable.get(uintptr(ctx))
	if c == nil || c.primary {
		return refuse(cudart.ErrInvalidContext, call, "%#x is not a context from CreateContext", uintptr(ctx))
	}
	if err := r.refusal(call, c.device.info.Ordinal); err != nil && !cudart.IsSticky(err) {
		return err
	}
	if r.threads.get() == ctx {
		r.threads.set(0)
	}
	r.destroy(c)
	return r.lossAt(call)
}

// destroy lets a context's work end, and then removes everything in it. What
// a pool holds is the device's, and stays.
func (r *simulator) destroy(c *context) {
	if r.contextTable.take(uintptr(c.handle)) == nil {
		return
	}
	r.streamTable.drop(func(s *stream) bool { return s.ctx == c })
	r.awaitContext(c)
	for _, s := range r.streamsOf(c) {
		s.retire()
	}
	r.eventTable.drop(func(e *event) bool { return e.ctx == c })
	r.launchTable.drop(func(g *launchGraph) bool { return g.f.ctx == c })
	r.functionTable.drop(func(f *function) bool { return f.ctx == c })
	r.moduleTable.drop(func(m *module) bool { return m.ctx == c })
	r.pinned.drop(c)
}

func (r *simulator) lossAt(call string) error {
	if l := r.lost.Load(); l != nil {
		return l.at(call)
	}
	return nil
}

func (r *simulator) SetCurrent(ctx cudart.Context) error {
	const call = "cuCtxSetCurrent"
	if ctx != 0 && r.contextTable.get(uintptr(ctx)) == nil {
		return refuse(cudart.ErrInvalidContext, call, "no context %#x", uintptr(ctx))
	}
	if err := r.refusal(call, Any); err != nil {
		return err
	}
	r.exec.turn(call, nil)
	r.threads.set(ctx)
	return nil
}

func (r *simulator) Current() (cudart.Context, error) {
	if err := r.refusal("cuCtxGetCurrent", Any); err != nil {
		return 0, err
	}
	return r.threads.get(), nil
}

func (r *simulator) SynchronizeContext(ctx cudart.Context) error {
	const call = "cuCtxSynchronize"
	c, err := r.enter(ctx, call)
	if err != nil {
		return err
	}
	r.awaitContext(c)
	return r.lossAt(call)
}

func (r *simulator) awaitContext(c *context) {
	for _, s := range r.streamsOf(c) {
		s.await()
	}
}

func (r *simulator) streamsOf(c *context) []*stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	var of []*stream
	for s := range r.streams {
		if s.ctx == c {
			of = append(of, s)
		}
	}
	slices.SortFunc(of, byNumber)
	return of
}
