package actor

import (
	"context"
	"errors"
	"testing"
)

func TestGroupsFirstErrorCancelsTheOthers(t *testing.T) {
	sys := newSystem(t)
	g := sys.Group(context.Background())
	th := sharedThread(t, sys)
	causes := make(chan error, 3)
	for _, at := range []Placement{sys.Device(0), sys.Device(1), On(th)} {
		g.Go("waits", at, func(s *Stream) error {
			_, err := NewChan[int](1).Recv(s)
			causes <- err
			return err
		})
	}
	g.Go("fails", On(th), func(*Stream) error { return errBroken })
	if err := g.Wait(); !errors.Is(err, errBroken) {
		t.Errorf("Wait: %v", err)
	}
	for range 3 {
		if err := await(t, "a cause", causes); !errors.Is(err, errBroken) {
			t.Errorf("another one ended with %v, want the first error", err)
		}
	}
	if err := context.Cause(g.Context()); !errors.Is(err, errBroken) {
		t.Errorf("the group's context ended with %v", err)
	}
}

func TestGroupWithoutAnError(t *testing.T) {
	sys := newSystem(t)
	g := sys.Group(context.Background())
	items := NewChan[int](1)
	g.Go("sends", sys.Device(0), func(s *Stream) error {
		defer items.Close()
		return items.Send(s, 1)
	})
	g.Go("receives", sys.Device(0), func(s *Stream) error {
		for _, err := range items.All(s) {
			if err != nil {
				return err
			}
		}
		return nil
	})
	stopped := g.Go("is stopped", sys.Device(0), func(s *Stream) error { s.Rest(); return nil })
	stopped.Stop()
	if err := g.Wait(); err != nil {
		t.Errorf("Wait: %v", err)
	}
	if g.Context().Err() == nil {
		t.Error("the group's context goes on")
	}
	// Whoever comes too late finds an ended context.
	late := g.Go("late", sys.Device(0), func(s *Stream) error { return s.Context().Err() })
	if err := late.Wait(soon(t)); err == nil {
		t.Error("an actor of a group that is over did not notice")
	}
}

// The caller's context is over all of them, and its cause is the group's error.
func TestGroupAndTheCallersContext(t *testing.T) {
	sys := newSystem(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	g := sys.Group(ctx)
	ref := g.Go("waits", sys.Device(0), func(s *Stream) error { _, err := NewChan[int](1).Recv(s); return err })
	suspended(t, ref)
	why := errors.New("no longer")
	cancel(why)
	if err := g.Wait(); !errors.Is(err, why) {
		t.Errorf("Wait: %v, want the cause", err)
	}
}

// An actor that cannot be started is the group's error, and the others end.
func TestGroupWithTooManyThreads(t *testing.T) {
	sys := newSystem(t, WithMaxThreads(2))
	g := sys.Group(context.Background())
	started := 0
	for range 4 {
		if g.Go("waits", sys.Device(0), func(s *Stream) error { s.Rest(); return nil }) != nil {
			started++
		}
	}
	if err := g.Wait(); !errors.Is(err, ErrTooManyThreads) {
		t.Errorf("Wait: %v", err)
	}
	if started != 2 {
		t.Errorf("%d were started, want 2", started)
	}
}

// A restart is not an end: the group waits for the life that succeeds.
func TestGroupAndSupervision(t *testing.T) {
	sys := newSystem(t)
	g := sys.Group(context.Background())
	runs := 0
	g.Go("tries again", sys.Device(0), func(s *Stream) error {
		if err := s.Context().Err(); err != nil {
			return err
		}
		if runs++; runs < 3 {
			return errBroken
		}
		return nil
	}, fresh())
	if err := g.Wait(); err != nil || runs != 3 {
		t.Errorf("after %d runs: %v", runs, err)
	}
}

func TestRefWaitsForItsContext(t *testing.T) {
	sys := newSystem(t)
	ref := start(t, sys, "rests", sys.Device(1), func(s *Stream) error { s.Rest(); return nil })
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("no longer")
	cancel(why)
	if err := ref.Wait(ctx); !errors.Is(err, why) {
		t.Errorf("Wait: %v, want the cause", err)
	}
	if ref.Name() != "rests" || ref.Device() != sys.Device(1) {
		t.Errorf("%s on %v", ref.Name(), ref.Device())
	}
	ref.Stop()
	await(t, "its end", ref.Done())
	finish(t, ref)
}
