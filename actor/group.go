package actor

import (
	"context"
	"sync"
)

// Group is several actors that work on one thing: the first error cancels the
// others, as in errgroup.
type Group struct {
	sys    *System
	ctx    context.Context
	cancel context.CancelCauseFunc

	wg    sync.WaitGroup
	first sync.Once
	err   error
}

// Group makes a group whose actors' contexts derive from ctx.
func (sys *System) Group(ctx context.Context) *Group {
	g := &Group{sys: sys}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	return g
}

// Context is what the actors' contexts derive from: it ends with the first error,
// or when Wait returns.
func (g *Group) Context() context.Context { return g.ctx }

// Go starts an actor of the group, as [System.Go] does. Where it cannot be started,
// that is the group's error, and the result is nil.
func (g *Group) Go(name string, at Placement, fn func(*Stream) error, opts ...SpawnOption) *Ref {
	opts = append([]SpawnOption{WithContext(g.ctx)}, opts...)
	ref, err := g.sys.Go(name, at, fn, opts...)
	if err != nil {
		g.fail(err)
		return nil
	}
	g.wg.Go(func() {
		<-ref.done
		if err := ref.Wait(context.Background()); err != nil {
			g.fail(err)
		}
	})
	return ref
}

func (g *Group) fail(err error) {
	g.first.Do(func() {
		g.err = err
		g.cancel(err)
	})
}

// Wait waits for all actors of the group to end, and returns the first error.
func (g *Group) Wait() error {
	g.wg.Wait()
	g.cancel(context.Canceled)
	return g.err
}
