package actor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	proto "github.com/asynkron/protoactor-go/actor"
)

// A failure is logged with the stack of its panic, apart from the text.
func TestAPanicIsLoggedWithItsStack(t *testing.T) {
	log := &logged{}
	sys := newSystem(t, WithLogger(log.logger()))
	ref := start(t, sys, "function", sys.Device(0), func(*Stream) error { return explodes() })
	if err := ref.Wait(soon(t)); err == nil || err.Error() != "actor: function panicked: boom" {
		t.Errorf("%v", err)
	}
	ref = spawn(t, sys, "handler", sys.Device(0), func(ctx Context) {
		if _, ok := ctx.Message().(int); ok {
			_ = explodes()
		}
	})
	if _, err := sys.Request(soon(t), ref.PID(), 1); err == nil {
		t.Error("no error")
	}
	ref.Stop()
	<-ref.Done()
	for _, name := range []string{"function", "handler"} {
		found := false
		for line := range strings.Lines(log.String()) {
			found = found || strings.Contains(line, "actor="+name) && strings.Contains(line, "stack=") && strings.Contains(line, "explodes")
		}
		if !found {
			t.Errorf("%s: no stack in %s", name, log)
		}
	}
}

func explodes() error { panic("boom") }

func TestHandlerFailedSaysItOnce(t *testing.T) {
	for want, e := range map[string]*HandlerFailed{
		"actor: the handler of x panicked: boom":                             {"x", &PanicError{Actor: "x", Value: "boom"}},
		"actor: the handler of x failed: the function called runtime.Goexit": {"x", ErrGoexit},
		"actor: the handler of x failed: other: it is full":                  {"x", errors.New("other: it is full")},
		"actor: the handler of x failed: <nil>":                              {"x", nil},
	} {
		if e.Error() != want {
			t.Errorf("%q, want %q", e, want)
		}
	}
}

// An actor that ends because it shall has not failed, however it says so.
func TestCancellationIsNoFailure(t *testing.T) {
	why := errors.New("enough")
	for _, c := range []struct {
		name   string
		end    func(ref *Ref, cancel context.CancelCauseFunc)
		fn     func(s *Stream) error
		result error
	}{
		{"stopped in the library", stopIt, func(s *Stream) error { _, err := NewChan[int](1).Recv(s); return err }, nil},
		{"stopped outside", stopIt, func(s *Stream) error { <-s.Context().Done(); return s.Context().Err() }, nil},
		{"stopped, in words of its own", stopIt, func(s *Stream) error {
			<-s.Context().Done()
			return fmt.Errorf("giving up: %w", context.Cause(s.Context()))
		}, nil},
		{"the caller's context", cancelIt(why), func(s *Stream) error { _, err := NewChan[int](1).Recv(s); return err }, why},
		{"the caller's context, outside", cancelIt(why), func(s *Stream) error { <-s.Context().Done(); return s.Context().Err() }, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &logged{}
			sys := newSystem(t, WithLogger(log.logger()))
			ctx, cancel := context.WithCancelCause(context.Background())
			runs := 0
			up := make(chan struct{}, 100)
			ref := start(t, sys, "function", sys.Device(0), func(s *Stream) error {
				runs++
				up <- struct{}{}
				return c.fn(s)
			}, WithContext(ctx), decided(Restart))
			await(t, "it runs", up)
			c.end(ref, cancel)
			if err := ref.Wait(soon(t)); !errors.Is(err, c.result) {
				t.Errorf("%v, want %v", err, c.result)
			}
			if runs != 1 {
				t.Errorf("it ran %d times", runs)
			}
			if text := log.String(); strings.Contains(text, "level=WARN") || strings.Contains(text, "level=ERROR") {
				t.Errorf("logged %s", text)
			}
		})
	}
}

func stopIt(ref *Ref, _ context.CancelCauseFunc) { ref.Stop() }

func cancelIt(why error) func(*Ref, context.CancelCauseFunc) {
	return func(_ *Ref, cancel context.CancelCauseFunc) { cancel(why) }
}

// A failure of its own is one, also when the context has ended.
func TestAFailureBesideCancellation(t *testing.T) {
	log := &logged{}
	sys := newSystem(t, WithLogger(log.logger()))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	own := errors.New("its own")
	ref := start(t, sys, "function", sys.Device(0), func(s *Stream) error { <-s.Context().Done(); return own }, WithContext(ctx))
	if err := ref.Wait(soon(t)); !errors.Is(err, own) {
		t.Errorf("%v", err)
	}
	if !strings.Contains(log.String(), `level=WARN msg="actor: failed"`) {
		t.Errorf("logged %s", log)
	}
}

// Where supervision gives an actor up, the log says so, once, and why.
func TestTheEndAfterFailuresIsLogged(t *testing.T) {
	log := &logged{}
	sys := newSystem(t, WithLogger(log.logger()))
	twice := WithSupervision(NewOneForOneStrategy(2, time.Minute, func(any) Directive { return Restart }))
	handler := spawn(t, sys, "handler", sys.Device(0), func(ctx Context) {
		if _, ok := ctx.Message().(*proto.Started); ok {
			panic("boom")
		}
	}, twice)
	<-handler.Done()
	function := start(t, sys, "function", sys.Device(0), func(*Stream) error { return errors.New("bang") }, twice)
	<-function.Done()
	alone := start(t, sys, "alone", sys.Device(0), func(*Stream) error { return errors.New("crack") })
	<-alone.Done()
	for name, want := range map[string]int{"handler": 1, "function": 1, "alone": 0} {
		n := 0
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "actor: ended after failures") && strings.Contains(line, "actor="+name) {
				n++
				if !strings.Contains(line, "boom") && !strings.Contains(line, "bang") {
					t.Errorf("%s: no reason in %s", name, line)
				}
			}
		}
		if n != want {
			t.Errorf("%s: logged %d times, want %d", name, n, want)
		}
	}
	if err := sys.Send(soon(t), function.PID(), 1); !errors.Is(err, ErrNoActor) || err.Error() != "actor: function has ended" {
		t.Errorf("%v", err)
	}
}
