package actor

import (
	"context"
	"errors"
	"strings"
	"testing"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/buffer"
)

type (
	hostful struct{ H Host }
	double  struct{ N int }
	boom    struct{}
	// These ask for a buffer of either kind, or of both.
	wantsBuf  struct{ V uint32 }
	wantsHost struct{ V uint32 }
	wantsBoth struct{}
	mixed     struct {
		H Host
		B Buf
	}
)

// answerer is an actor that answers in every way. Respond is protoactor's; with own it
// is this library's.
func answerer(t *testing.T, sys *System, own bool) *Ref {
	return spawn(t, sys, "answerer", sys.Device(0), func(ctx Context) {
		s := StreamOf(ctx)
		respond := func(m any, err error) {
			if err == nil && own {
				err = s.Send(ctx.Sender(), m)
			} else if err == nil {
				ctx.Respond(m)
			}
			if err != nil {
				panic(err)
			}
		}
		host := func(v uint32) (Host, error) {
			h, err := buffer.NewHost[uint32](s, words)
			if err != nil {
				return h, err
			}
			x, err := h.Slice(s)
			if err == nil {
				x[0] = v
			}
			return h, err
		}
		switch m := ctx.Message().(type) {
		case double:
			respond(2*m.N, nil)
		case hostful:
			respond(m, nil)
		case boom:
			panic("boom")
		case wantsBuf:
			b, err := filled(s, m.V)
			respond(parcel{b}, err)
		case wantsHost:
			h, err := host(m.V)
			respond(hostful{h}, err)
		case wantsBoth:
			h, err := host(1)
			b, err2 := filled(s, 1)
			respond(mixed{h, b}, errors.Join(err, err2))
		}
	})
}

func TestRequest(t *testing.T) {
	for name, own := range map[string]bool{"Respond": false, "Stream.Send": true} {
		t.Run(name, func(t *testing.T) {
			sys := newSystem(t)
			ref := answerer(t, sys, own)
			to := ref.PID()
			if got, err := sys.Request(soon(t), to, double{21}); err != nil || got != 42 {
				t.Errorf("%v, %v; want 42", got, err)
			}
			got, err := sys.Request(soon(t), to, wantsHost{5})
			if err != nil {
				t.Fatal(err)
			}
			h := got.(hostful).H
			if x, err := h.SliceCtx(soon(t)); err != nil || x[0] != 5 {
				t.Errorf("%v", err)
			}
			// There and back again.
			if got, err = sys.Request(soon(t), to, hostful{h}); err != nil {
				t.Fatal(err)
			}
			if err := got.(hostful).H.ReleaseHere(); err != nil {
				t.Error(err)
			}
			for _, m := range []any{wantsBuf{1}, wantsBoth{}} {
				before := buffer.Live()
				if got, err = sys.Request(soon(t), to, m); got != nil || !errors.Is(err, buffer.ErrNoStream) {
					t.Errorf("%T: %v, %v; want ErrNoStream", m, got, err)
				}
				if n := buffer.Live(); n != before {
					t.Errorf("%T: %d buffers were not released", m, n-before)
				}
			}
			var failed *HandlerFailed
			if _, err = sys.Request(soon(t), to, boom{}); !errors.As(err, &failed) || err.Error() != "actor: the handler of answerer panicked: boom" {
				t.Errorf("a panic: %v", err)
			}
			ref.Stop()
			finish(t, ref)
			if _, err := sys.Request(soon(t), to, double{1}); !errors.Is(err, ErrNoActor) || err.Error() != "actor: answerer has ended" {
				t.Errorf("an actor that has ended: %v", err)
			}
			if _, err := sys.Request(soon(t), nil, 1); !errors.Is(err, ErrNoActor) {
				t.Errorf("nil: %v", err)
			}
		})
	}
}

func TestAsk(t *testing.T) {
	for name, own := range map[string]bool{"Respond": false, "Stream.Send": true} {
		t.Run(name, func(t *testing.T) {
			sys := newSystem(t)
			ref := answerer(t, sys, own)
			finish(t, start(t, sys, "asker", sys.Device(0), func(s *Stream) error {
				if got, err := s.Ask(ref.PID(), double{21}); err != nil || got != 42 {
					t.Errorf("%v, %v; want 42", got, err)
				}
				got, err := s.Ask(ref.PID(), wantsBuf{7})
				if err != nil {
					return err
				}
				if err := holds(s, got.(parcel).B, 7); err != nil {
					return err
				}
				var failed *HandlerFailed
				if _, err := s.Ask(ref.PID(), boom{}); !errors.As(err, &failed) {
					t.Errorf("a panic: %v", err)
				}
				if _, err := s.Ask(s.Ref().PID(), 1); err == nil || !strings.Contains(err.Error(), "asks itself") {
					t.Errorf("it asked itself: %v", err)
				}
				_, err = s.Ask(nil, 1)
				if !errors.Is(err, ErrNoActor) {
					t.Errorf("nil: %v", err)
				}
				return nil
			}))
			ref.Stop()
			finish(t, ref)
		})
	}
}

// A request that nobody handles is answered all the same.
func TestARequestThatIsNotHandled(t *testing.T) {
	sys := newSystem(t)
	function := start(t, sys, "function", sys.Device(0), func(s *Stream) error { s.Rest(); return nil })
	if _, err := sys.Request(soon(t), function.PID(), 1); !errors.Is(err, ErrNoActor) {
		t.Errorf("a function: %v", err)
	}
	function.Stop()
	finish(t, function)
	busy, letGo := standstill(t, sys, func(Context) {})
	result := make(chan error, 1)
	go func() { _, err := sys.Request(soon(t), busy.PID(), 1); result <- err }()
	until(t, "it is queued", func() bool { return busy.s.mail.UserMessageCount() == 1 })
	busy.Stop()
	letGo()
	finish(t, busy)
	if err := await(t, "an answer", result); !errors.Is(err, ErrNoActor) {
		t.Errorf("an actor that ended first: %v", err)
	}
}

// An asker who gives up leaves nothing: no process, and no buffer of an answer that
// comes too late.
func TestALateAnswer(t *testing.T) {
	sys := newSystem(t)
	asked, goOn := make(chan *PID, 1), make(chan struct{})
	ref := spawn(t, sys, "slow", sys.Device(0), func(ctx Context) {
		if _, ok := ctx.Message().(int); !ok {
			return
		}
		asked <- ctx.Sender()
		<-goOn
		b, err := filled(StreamOf(ctx), 1)
		if err != nil {
			t.Error(err)
		}
		ctx.Respond(parcel{b})
		var own *buffer.OwnershipError
		if err := b.Release(StreamOf(ctx)); !errors.As(err, &own) {
			t.Errorf("it was not given: %v", err)
		}
		ctx.Respond(1) // nobody waits for a second one either
	})
	for name, ask := range map[string]func(context.Context) error{
		"Request": func(ctx context.Context) error { _, err := sys.Request(ctx, ref.PID(), 1); return err },
		"Ask": func(ctx context.Context) error {
			return start(t, sys, "asker", sys.Device(0), func(s *Stream) error {
				_, err := s.Ask(ref.PID(), 1)
				return err
			}, WithContext(ctx)).Wait(soon(t))
		},
	} {
		reclaimed := sys.Counts().Reclaimed
		ctx, cancel := context.WithCancelCause(context.Background())
		why := errors.New("no longer")
		result := make(chan error, 1)
		go func() { result <- ask(ctx) }()
		q := await(t, "it is asked", asked)
		cancel(why)
		if err := await(t, "it gives up", result); !errors.Is(err, why) {
			t.Errorf("%s: %v, want the cause", name, err)
		}
		if _, ok := sys.root.ProcessRegistry.Get(q); ok {
			t.Errorf("%s: its process is still there", name)
		}
		goOn <- struct{}{}
		until(t, "the answer is released", func() bool { return sys.Counts().Reclaimed == reclaimed+1 })
	}
	ref.Stop()
	finish(t, ref)
}

// Answers with buffers that are somebody else's are errors of the request.
func TestAnAnswerThatIsNotItsSendersToGive(t *testing.T) {
	sys := newSystem(t)
	items := NewChan[Buf](1)
	ref := spawn(t, sys, "answerer", sys.Device(0), func(ctx Context) {
		if _, ok := ctx.Message().(int); !ok {
			return
		}
		s := StreamOf(ctx)
		b, err := filled(s, 1)
		if err := errors.Join(err, items.Send(s, b)); err != nil {
			t.Error(err)
		}
		ctx.Respond(parcel{b})
	})
	var own *buffer.OwnershipError
	if _, err := sys.Request(soon(t), ref.PID(), 1); !errors.As(err, &own) {
		t.Errorf("%v", err)
	}
	if n := items.Discard(); n != 1 {
		t.Errorf("%d in the channel, want 1", n)
	}
	ref.Stop()
	finish(t, ref)
}

// protoactor's own futures have no stream: what is answered to them with buffers is a
// dead letter, and the buffers stay the sender's.
func TestBuffersForAFutureOfProtoactors(t *testing.T) {
	log := &logged{}
	sys := newSystem(t, WithLogger(log.logger()))
	kept := make(chan error, 1)
	ref := spawn(t, sys, "answerer", sys.Device(0), func(ctx Context) {
		if _, ok := ctx.Message().(int); !ok {
			return
		}
		s := StreamOf(ctx)
		b, err := filled(s, 3)
		ctx.Respond(parcel{b})
		kept <- errors.Join(err, holds(s, b, 3))
		ctx.Respond("without")
	})
	letters := make(chan any, 1)
	sub := sys.root.EventStream.Subscribe(func(e any) {
		if d, ok := e.(*proto.DeadLetterEvent); ok {
			if _, ok := d.Message.(parcel); ok {
				letters <- d.Message
			}
		}
	})
	defer sys.root.EventStream.Unsubscribe(sub)
	answers(t, sys.Root().RequestFuture(ref.PID(), 1, longest), "the answerer", func(res any, _ error) bool { return res == "without" })
	if err := await(t, "it keeps the buffer", kept); err != nil {
		t.Error(err)
	}
	await(t, "a dead letter", letters)
	if text := log.String(); !strings.Contains(text, "its buffers are still its sender's") {
		t.Errorf("logged %q", text)
	}
	ref.Stop()
	finish(t, ref)
}
