package actor

import (
	"errors"
	"testing"

	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/device"
)

// calls are what belongs to a stream's actor, for a stream and a buffer of it.
func calls(s *Stream, b Buf) map[string]func() error {
	items := NewChan[Buf](1)
	return map[string]func() error{
		"Owner":       func() error { _, err := s.Owner(); return err },
		"Launch":      func() error { return fill(s, b, 1) },
		"Synchronize": s.Synchronize,
		"Submit":      s.Submit,
		"Raw":         func() error { return s.Raw(func(RawStream) error { return nil }) },
		"Send":        func() error { return s.Send(s.Ref().PID(), 1) },
		"Request":     func() error { return s.Request(s.Ref().PID(), 1) },
		"Do":          func() error { return s.Do(s.Ref(), nothing{}) },
		"New":         func() error { _, err := buffer.New[uint32](s, 1); return err },
		"NewHost":     func() error { _, err := buffer.NewHost[uint32](s, 1); return err },
		"Release":     func() error { return b.Release(s) },
		"Chan.Send":   func() error { return items.Send(s, b) },
		"Chan.Recv":   func() error { _, err := items.Recv(s); return err },
		"Selector":    func() error { _, err := NewSelector().Wait(s); return err },
		"Chan.All": func() error {
			for _, err := range items.All(s) {
				return err
			}
			return nil
		},
	}
}

// nothing is a task without work.
type nothing struct{}

func (nothing) Run(*device.Stream, *device.Device) error { return nil }

// refused checks that a call was refused, and names whose stream it is.
func refused(t *testing.T, when, call string, err error) {
	t.Helper()
	var thread *ThreadError
	if !errors.As(err, &thread) || thread.Stream != "worker" {
		t.Errorf("%s: %s: %v, want a ThreadError that names worker", when, call, err)
	}
}

func TestT1_AnotherGoroutineWhileTheOwnerWaits(t *testing.T) {
	sys := newSystem(t)
	waits := make(chan map[string]func() error, 1)
	stop := NewChan[int](1)
	ref := start(t, sys, "worker", sys.Device(0), func(s *Stream) error {
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		waits <- calls(s, b)
		if _, err := stop.Recv(s); err != nil {
			return err
		}
		return holds(s, b, 1) // nothing has been done to it
	})
	all := await(t, "the actor waits", waits)
	until(t, "the actor waits", func() bool { return !ref.s.running.Load() })
	for name, call := range all {
		refused(t, "while the owner waits", name, call())
	}
	if err := stop.SendCtx(soon(t), 0); err != nil {
		t.Fatal(err)
	}
	finish(t, ref)
	for name, call := range all {
		refused(t, "when the owner has ended", name, call())
	}
}

// debugging makes GPUACTOR_DEBUG=1 hold for a test.
func debugging(t *testing.T) {
	before := buffer.Debug
	buffer.Debug = true
	t.Cleanup(func() { buffer.Debug = before })
}

func TestT1_InDebugAnotherGoroutineWhileTheOwnerRuns(t *testing.T) {
	debugging(t)
	sys := newSystem(t)
	fromElsewhere := func(s *Stream) error {
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		for name, call := range calls(s, b) {
			done := make(chan error)
			go func() { done <- call() }()
			refused(t, "while the owner runs", name, <-done)
		}
		return holds(s, b, 1)
	}
	finish(t, start(t, sys, "worker", sys.Device(0), fromElsewhere))

	tried := make(chan error, 1)
	ref := spawn(t, sys, "worker", sys.Device(0), func(ctx Context) {
		if _, ok := ctx.Message().(string); ok {
			tried <- fromElsewhere(StreamOf(ctx))
		}
	})
	sys.Root().Send(ref.PID(), "try")
	if err := await(t, "the handler tried", tried); err != nil {
		t.Error(err)
	}
}

// What needs no right to the stream may be asked from anywhere.
func TestStreamIsDescribedToAnybody(t *testing.T) {
	sys := newSystem(t)
	streams := make(chan *Stream, 1)
	ref := start(t, sys, "worker", sys.Device(1), func(s *Stream) error {
		streams <- s
		s.Rest()
		return nil
	})
	s := await(t, "the actor runs", streams)
	if s.Name() != "worker" || s.Device() != sys.Device(1) || s.System() != sys || s.Ref() != ref || s.Context().Err() != nil {
		t.Errorf("%s on %v, ended: %v", s.Name(), s.Device(), s.Context().Err())
	}
	ref.Stop()
	finish(t, ref)
	if s.Context().Err() == nil {
		t.Error("the context goes on after the end")
	}
}

// A stop reaches code that waits for something else than this library.
func TestContextEndsWhileTheFunctionBlocksElsewhere(t *testing.T) {
	sys := newSystem(t)
	for _, style := range []string{"channel", "message"} {
		blocked, ended := make(chan struct{}), make(chan struct{})
		block := func(s *Stream) {
			close(blocked)
			<-s.Context().Done()
			close(ended)
		}
		var ref *Ref
		if style == "channel" {
			ref = start(t, sys, "blocked", sys.Device(0), func(s *Stream) error { block(s); return nil })
		} else {
			ref = spawn(t, sys, "blocked", sys.Device(0), func(ctx Context) {
				if _, ok := ctx.Message().(string); ok {
					block(StreamOf(ctx))
				}
			})
			sys.Root().Send(ref.PID(), "block")
		}
		await(t, style+": it blocks", blocked)
		ref.Stop()
		await(t, style+": its context ends", ended)
		finish(t, ref)
	}
}

func TestRaw(t *testing.T) {
	sys := newSystem(t)
	finish(t, start(t, sys, "raw", sys.Device(0), func(s *Stream) error {
		b, err := filled(s, 3)
		if err != nil {
			return err
		}
		mine := errors.New("mine")
		err = s.Raw(func(r RawStream) error {
			if r.Context != s.Device().Context() || r.Stream != s.CUDA().Handle() {
				t.Errorf("lent %+v", r)
			}
			if s.CUDA().Pending() != 0 {
				t.Error("what was pending has not been submitted")
			}
			return mine
		}, b.InOut())
		if !errors.Is(err, mine) {
			t.Errorf("error %v, want the function's", err)
		}
		if err := s.Raw(func(RawStream) error { return s.sys.rt.SetCurrent(0) }); err == nil {
			t.Error("a changed context is not noticed")
		}
		return holds(s, b, 3) // and is restored
	}))
}
