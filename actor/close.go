package actor

import (
	"context"

	"github.com/gpuactor/gpuactor/buffer"
)

// Close stops all actors, waits for them until ctx ends, and frees everything. Where
// some are still running then, nothing is freed, and a [*CloseError] names them; a
// later Close goes on. A second Close does nothing. What the GPU was given is waited for
// whatever ctx says: behind a kernel that never ends Close does not return.
func (sys *System) Close(ctx context.Context) error {
	sys.mu.Lock()
	sys.closing = true
	if sys.closed {
		sys.mu.Unlock()
		return nil
	}
	streams := make([]*Stream, 0, len(sys.streams))
	for s := range sys.streams {
		streams = append(streams, s)
	}
	sys.mu.Unlock()
	for _, s := range streams {
		sys.root.Root.Stop(s.ref.pid)
	}
	for _, s := range streams {
		select {
		case <-s.ref.done:
		case <-ctx.Done():
			return sys.stuck(context.Cause(ctx))
		}
	}
	if err := sys.endThreads(ctx); err != nil {
		return err
	}
	sys.mu.Lock()
	closed := sys.closed
	sys.closed = true
	sys.mu.Unlock()
	if closed {
		return nil
	}
	if n := buffer.ReclaimDevices(sys.devices...); n > 0 {
		sys.reclaimed.Add(int64(n))
		sys.log.Warn("actor: buffers that nobody released were freed at close", "buffers", n)
	}
	systems.Delete(sys.root)
	return sys.free()
}

func (sys *System) endThreads(ctx context.Context) error {
	sys.mu.Lock()
	threads := make([]*Thread, 0, len(sys.threads))
	for t := range sys.threads {
		threads = append(threads, t)
	}
	sys.mu.Unlock()
	for _, t := range threads {
		t.finish()
	}
	for _, t := range threads {
		select {
		case <-t.done:
		case <-ctx.Done():
			return sys.stuck(context.Cause(ctx))
		}
	}
	return nil
}

func (sys *System) stuck(why error) error {
	sys.mu.Lock()
	defer sys.mu.Unlock()
	e := &CloseError{Err: why}
	for s := range sys.streams {
		state := "waiting"
		if s.running.Load() {
			state = "running"
		}
		e.Stuck = append(e.Stuck, s.name+" ("+state+")")
	}
	return e
}
