package actor

import (
	"runtime"
	"testing"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/device"
)

// An actor that has more to do than one turn is queued behind those who came while it
// had its turn.
func TestWhoComesDuringATurnIsNext(t *testing.T) {
	sys := newSystem(t)
	th := sharedThread(t, sys)
	var order []string // of the thread
	done := make(chan struct{})
	neighbour := spawn(t, sys, "neighbour", On(th), func(ctx Context) {
		if _, ok := ctx.Message().(int); ok {
			order = append(order, "neighbour")
		}
	})
	busy := spawn(t, sys, "busy", On(th), func(ctx Context) {
		n, ok := ctx.Message().(int)
		if !ok {
			return
		}
		if n == 0 { // all of it is queued before the turn ends
			for i := range 3 * burst {
				ctx.Send(ctx.Self(), i+1)
			}
			ctx.Send(neighbour.PID(), 0)
		}
		order = append(order, "busy")
		if n == 3*burst {
			close(done)
		}
	})
	sys.Root().Send(busy.PID(), 0)
	await(t, "all is handled", done)
	for i, who := range order {
		if who == "neighbour" {
			if i > burst {
				t.Errorf("the neighbour came after %d messages, want at most %d", i, burst)
			}
			break
		}
	}
	busy.Stop()
	neighbour.Stop()
	finish(t, busy, neighbour)
}

type exiting struct{}

func (exiting) Run(*device.Stream, *device.Device) error { runtime.Goexit(); return nil }

// The actor goes on after a task that ended its turn.
func TestGoexitInATask(t *testing.T) {
	sys := newSystem(t)
	got := make(chan struct{})
	ref := spawn(t, sys, "a", sys.Device(0), func(ctx Context) {
		if ctx.Message() == "hello" {
			close(got)
		}
	})
	other := start(t, sys, "other", sys.Device(0), idle)
	finish(t, other)
	if !ref.s.ask(&request{task: exiting{}, from: other.s}) {
		t.Fatal("the task was refused")
	}
	sys.Root().Send(ref.PID(), "hello")
	await(t, "the message is handled", got)
	ref.Stop()
	finish(t, ref)
}

func TestWants(t *testing.T) {
	post := func(messages ...any) func(*Stream) {
		return func(s *Stream) {
			for _, m := range messages {
				if _, ok := m.(proto.SystemMessage); ok {
					s.mail.PostSystemMessage(m)
				} else {
					s.mail.enqueue(m, false)
				}
			}
		}
	}
	for _, c := range []struct {
		name string
		have func(*Stream)
		want bool
	}{
		{"nothing", post(), false},
		{"a message", post(1), true},
		{"a task", func(s *Stream) { s.ask(&request{}) }, true},
		{"a message, and it is suspended by supervision", func(s *Stream) { s.suspended = true; post(1)(s) }, false},
		{"a system message then", func(s *Stream) { s.suspended = true; post(1, &proto.Started{})(s) }, true},
		{"a message, and its end has been handled", func(s *Stream) { s.mail.ended = true; post(1)(s) }, false},
		{"a message, and its handler is suspended", func(s *Stream) { s.parked = true; post(1)(s) }, false},
		{"a wake-up of the handler", func(s *Stream) { s.parked = true; s.unpark() }, true},
		{"a Stop, posted before the handler's life began", func(s *Stream) { post(&proto.Stop{})(s); s.renew(); s.parked = true }, true},
		{"a Stop, which has ended the handler's context", func(s *Stream) { s.parked = true; post(&proto.Stop{})(s) }, false},
		{"another Stop, and Stopping is suspended", func(s *Stream) { s.lastLife(); s.parked = true; post(&proto.Stop{})(s) }, false},
		{"a function, and a message", func(s *Stream) { s.fn = idle; post(1)(s) }, true},
		{"a function that has ended, and a wake-up", func(s *Stream) { s.fn = idle; s.unpark() }, false},
		{"a function that is suspended, and a wake-up", func(s *Stream) { s.fn, s.live = idle, true; s.unpark() }, true},
	} {
		s := loose(0).s
		s.base = t.Context()
		s.renew()
		c.have(s)
		// What the end of a context wakes is not meant here.
		if c.name != "a wake-up of the handler" && s.parked {
			s.ready.Store(false)
		}
		if got := s.wants(); got != c.want {
			t.Errorf("%s: wants %v", c.name, got)
		}
		s.stop(ErrStopped)
	}
}

func idle(*Stream) error { return nil }
