package actor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/buffer"
)

// parcel is a message that carries a buffer in a plain field.
type parcel struct{ B Buf }

// A buffer changes hands with its message, whichever way that is sent.
func TestMessagesHandOver(t *testing.T) {
	sys := newSystem(t)
	got := make(chan error, 1)
	to := spawn(t, sys, "to", sys.Device(0), func(ctx Context) {
		s := StreamOf(ctx)
		switch m := ctx.Message().(type) {
		case parcel:
			got <- holds(s, m.B, 1)
		case *parcel:
			got <- holds(s, m.B, 1)
		case listed:
			got <- holds(s, m.Bs[0], 1)
		}
	})
	ways := map[string]func(Context, *Stream, Buf) error{
		"Send":             func(_ Context, s *Stream, b Buf) error { return s.Send(to.PID(), parcel{b}) },
		"Request":          func(_ Context, s *Stream, b Buf) error { return s.Request(to.PID(), &parcel{b}) },
		"a carrier":        func(_ Context, s *Stream, b Buf) error { return s.Send(to.PID(), listed{[]Buf{b}}) },
		"protoactor":       func(ctx Context, _ *Stream, b Buf) error { ctx.Send(to.PID(), parcel{b}); return nil },
		"protoactor's own": func(ctx Context, _ *Stream, b Buf) error { ctx.Request(to.PID(), &parcel{b}); return nil },
	}
	from := spawn(t, sys, "from", sys.Device(0), func(ctx Context) {
		send, ok := ctx.Message().(func(Context, *Stream, Buf) error)
		if !ok {
			return
		}
		s := StreamOf(ctx)
		b, err := filled(s, 1)
		if err == nil {
			err = send(ctx, s, b)
		}
		var own *buffer.OwnershipError
		if err == nil && !errors.As(b.Release(s), &own) {
			err = errors.New("the sender still owns it")
		}
		if err != nil {
			got <- err
		}
	})
	for name, way := range ways {
		sys.Root().Send(from.PID(), way)
		if err := await(t, name, got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, r := range []*Ref{from, to} {
		r.Stop()
		finish(t, r)
	}
}

// A stale copy of a buffer that is on its way to somebody else reaches nobody, and
// takes nothing from whom it is for.
func TestM6_AStaleCopyInAMessage(t *testing.T) {
	sys := newSystem(t)
	received := make(chan struct{}, 1)
	thief := spawn(t, sys, "thief", sys.Device(0), func(ctx Context) {
		switch ctx.Message().(type) {
		case parcel:
			received <- struct{}{}
		case string:
			ctx.Respond("done")
		}
	})
	ended := spawn(t, sys, "ended", sys.Device(0), func(Context) {})
	ended.Stop()
	finish(t, ended)
	items := NewChan[Buf](1)
	var stale Buf
	sender := start(t, sys, "sender", sys.Device(0), func(s *Stream) error {
		b, err := filled(s, 3)
		if err != nil {
			return err
		}
		stale = b
		if err := items.Send(s, b); err != nil {
			return err
		}
		var own *buffer.OwnershipError
		if err := s.Send(thief.PID(), parcel{b}); !errors.As(err, &own) {
			t.Errorf("Stream.Send: %v", err)
		}
		return nil
	})
	finish(t, sender)
	sys.Root().Send(thief.PID(), parcel{stale}) // protoactor's own knows no error
	sys.Root().Send(ended.PID(), parcel{stale})
	answers(t, sys.Root().RequestFuture(thief.PID(), "did you get it?", longest), "the thief", func(res any, _ error) bool { return res == "done" })
	if len(received) != 0 {
		t.Error("the thief was sent a buffer that is somebody else's")
	}
	finish(t, start(t, sys, "receiver", sys.Device(0), func(s *Stream) error {
		b, err := items.Recv(s)
		return errors.Join(err, holds(s, b, 3))
	}))
	thief.Stop()
	finish(t, thief)
}

// A batch is its elements, and not itself after them.
func TestABatchIsItsElements(t *testing.T) {
	sys := newSystem(t)
	var got []string
	ref := spawn(t, sys, "worker", sys.Device(0), func(ctx Context) {
		switch m := ctx.Message().(type) {
		case int, batch:
			got = append(got, fmt.Sprint(m))
		case string:
			ctx.Respond(fmt.Sprint(got))
		}
	})
	sys.Root().Send(ref.PID(), batch{1, 2, 3})
	answers(t, sys.Root().RequestFuture(ref.PID(), "what?", longest), "the worker", func(res any, _ error) bool { return res == "[1 2 3]" })
	if err := sys.Send(soon(t), ref.PID(), batch{1}); err == nil {
		t.Error("a batch was sent on one credit")
	}
	ref.Stop()
	finish(t, ref)
}

type batch []any

func (b batch) GetMessages() []any { return b }

var _ proto.MessageBatch = batch(nil)

// filling sends messages to an actor that does not handle them, until there is no
// credit left.
func filling(t *testing.T, sys *System, to *Ref) {
	t.Helper()
	for i := range mailboxBound {
		if err := sys.Send(soon(t), to.PID(), i); err != nil {
			t.Fatal(err)
		}
	}
}

// standstill is an actor that handles nothing until it is let go.
func standstill(t *testing.T, sys *System, handle func(Context)) (*Ref, func()) {
	busy, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	ref := spawn(t, sys, "standstill", sys.Device(0), func(ctx Context) {
		if m, ok := ctx.Message().(string); ok && m == "stand still" {
			close(busy)
			<-goOn
			return
		}
		handle(ctx)
	})
	sys.Root().Send(ref.PID(), "stand still")
	await(t, "it stands still", busy)
	letGo := func() { once.Do(func() { close(goOn) }) }
	t.Cleanup(letGo)
	return ref, letGo
}

func TestCreditsRunOut(t *testing.T) {
	sys := newSystem(t)
	var handled atomic.Int32
	ref, letGo := standstill(t, sys, func(ctx Context) {
		if _, ok := ctx.Message().(int); ok {
			handled.Add(1)
		}
	})
	filling(t, sys, ref)
	// One who gives up, from either side; its buffer is its own again.
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("no longer")
	impatient := start(t, sys, "impatient", sys.Device(0), func(s *Stream) error {
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		if err := s.Send(ref.PID(), parcel{b}); !errors.Is(err, why) {
			t.Errorf("Stream.Send: %v, want the cause", err)
		}
		return holds2(s, b)
	}, WithContext(ctx))
	suspended(t, impatient)
	gone := make(chan error, 1)
	go func() { gone <- sys.Send(ctx, ref.PID(), 1) }()
	patient := start(t, sys, "patient", sys.Device(0), func(s *Stream) error { return s.Send(ref.PID(), 1) })
	suspended(t, patient)
	later := make(chan error, 1)
	go func() { later <- sys.Send(soon(t), ref.PID(), 1) }()
	until(t, "four are waiting", func() bool { return queueLen(ref.s.mail) == 4 })
	cancel(why)
	finish(t, impatient)
	if err := await(t, "the goroutine gives up", gone); !errors.Is(err, why) {
		t.Errorf("System.Send: %v, want the cause", err)
	}
	if n := queueLen(ref.s.mail); n != 2 {
		t.Errorf("%d are waiting, want 2", n)
	}
	if n := ref.s.mail.UserMessageCount(); n != mailboxBound {
		t.Errorf("%d messages are queued, want %d", n, mailboxBound)
	}
	letGo()
	finish(t, patient)
	if err := await(t, "the goroutine has its credit", later); err != nil {
		t.Error(err)
	}
	until(t, "all are handled", func() bool { return handled.Load() == mailboxBound+2 })
	ref.Stop()
	finish(t, ref)
}

// holds2 releases a buffer whose actor's context has ended, so that nothing can be
// waited for.
func holds2(s *Stream, b Buf) error { return errors.Join(fill(s, b, 2), b.Release(s)) }

// queueLen is how many wait for a credit.
func queueLen(m *mailbox) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for w := m.senders.first; w != nil; w = w.next {
		n++
	}
	return n
}

// A credit that is taken and not used goes to the next in the queue.
func TestAnUnusedCreditIsPassedOn(t *testing.T) {
	sys := newSystem(t)
	ref, letGo := standstill(t, sys, func(Context) {})
	filling(t, sys, ref)
	h, err := buffer.HostOn[uint32](sys.Device(0), 1)
	if err != nil {
		t.Fatal(err)
	}
	type hostParcel struct{ H Host }
	wrong, right := make(chan error, 1), make(chan error, 1)
	go func() { wrong <- sys.Send(soon(t), ref.PID(), hostParcel{h}) }()
	until(t, "it waits", func() bool { return queueLen(ref.s.mail) == 1 })
	go func() { right <- sys.Send(soon(t), ref.PID(), 1) }()
	until(t, "both wait", func() bool { return queueLen(ref.s.mail) == 2 })
	if err := h.ReleaseHere(); err != nil { // a mistake of the program
		t.Fatal(err)
	}
	// Exactly one message is taken out: one credit, for the first of the two.
	m := ref.s.mail
	if _, ok := m.popUser(); !ok {
		t.Fatal("nothing is queued")
	}
	var own *buffer.OwnershipError
	if err := await(t, "the first returns", wrong); !errors.As(err, &own) {
		t.Errorf("a released buffer was sent: %v", err)
	}
	if err := await(t, "the second has its credit", right); err != nil {
		t.Error(err)
	}
	letGo()
	ref.Stop()
	finish(t, ref)
}

// The end of an actor ends the waits for its credit.
func TestCreditOfAnActorThatEnds(t *testing.T) {
	sys := newSystem(t)
	ref, letGo := standstill(t, sys, func(Context) {})
	filling(t, sys, ref)
	sender := start(t, sys, "sender", sys.Device(0), func(s *Stream) error { return s.Send(ref.PID(), 1) })
	suspended(t, sender)
	goroutine := make(chan error, 1)
	go func() { goroutine <- sys.Send(soon(t), ref.PID(), 1) }()
	until(t, "both wait", func() bool { return queueLen(ref.s.mail) == 2 })
	ref.Stop()
	letGo()
	finish(t, ref)
	for _, err := range []error{sender.Wait(soon(t)), await(t, "the goroutine returns", goroutine)} {
		if !errors.Is(err, ErrNoActor) {
			t.Errorf("%v, want ErrNoActor", err)
		}
	}
}

// flood has every actor of a ring send more than the bound to the next before it
// handles anything. With one actor it sends to itself.
func flood(t *testing.T, sys *System, actors int, at func(int) Placement) {
	t.Helper()
	const each = 3 * mailboxBound
	refs := make([]*Ref, actors)
	var handled atomic.Int32
	for i := range refs {
		refs[i] = spawn(t, sys, fmt.Sprint("flooder ", i), at(i), func(ctx Context) {
			switch ctx.Message().(type) {
			case string:
				for n := range each {
					if err := StreamOf(ctx).Send(refs[(i+1)%actors].PID(), n); err != nil {
						t.Error(err)
						return
					}
				}
			case int:
				handled.Add(1)
			}
		})
	}
	for _, r := range refs {
		sys.Root().Send(r.PID(), "flood")
	}
	until(t, "all messages are handled", func() bool { return int(handled.Load()) == actors*each })
	for _, r := range refs {
		r.Stop()
		finish(t, r)
		if n := r.s.mail.promised; n != 0 {
			t.Errorf("%s: %d credits are out", r.Name(), n)
		}
	}
}

func TestT3_Floods(t *testing.T) {
	for actors, what := range map[int]string{1: "an actor itself", 2: "two each other", 5: "five in a ring"} {
		t.Run(what, func(t *testing.T) {
			sys := newSystem(t)
			th := sharedThread(t, sys)
			flood(t, sys, actors, func(int) Placement { return sys.Device(0) })
			flood(t, sys, actors, func(int) Placement { return On(th) })
		})
	}
}

// A chain that does not close is no circle: its sender waits.
func TestT3_AChainWaits(t *testing.T) {
	sys := newSystem(t)
	last, letGo := standstill(t, sys, func(Context) {})
	filling(t, sys, last)
	middle := start(t, sys, "middle", sys.Device(0), func(s *Stream) error { return s.Send(last.PID(), 1) })
	suspended(t, middle)
	if n := last.s.mail.UserMessageCount(); n != mailboxBound {
		t.Errorf("%d messages are queued, want %d", n, mailboxBound)
	}
	letGo()
	finish(t, middle)
	last.Stop()
	finish(t, last)
}

// The mistake of a message's own method is an error of whoever sends it, and costs
// nobody else anything.
func TestAPanicInCarryOfAMessage(t *testing.T) {
	sys := newSystem(t)
	bad := true
	var handled atomic.Int32
	ref := spawn(t, sys, "worker", sys.Device(0), func(ctx Context) {
		switch ctx.Message().(type) {
		case moody:
			handled.Add(1)
		case string:
			ctx.Respond("here")
		}
	})
	if err := sys.Send(soon(t), ref.PID(), moody{&bad}); err == nil {
		t.Error("System.Send: no error")
	}
	sys.Root().Send(ref.PID(), moody{&bad}) // protoactor's own: a dead letter
	finish(t, start(t, sys, "sender", sys.Device(0), func(s *Stream) error {
		if err := s.Send(ref.PID(), moody{&bad}); err == nil {
			t.Error("Stream.Send: no error")
		}
		return nil
	}))
	answers(t, sys.Root().RequestFuture(ref.PID(), "there?", longest), "the worker", func(res any, _ error) bool { return res == "here" })
	// One that is still queued when its actor ends.
	busy, letGo := standstill(t, sys, func(Context) {})
	good := false
	if err := sys.Send(soon(t), busy.PID(), moody{&good}); err != nil {
		t.Fatal(err)
	}
	good = true
	busy.Stop()
	letGo()
	finish(t, busy)
	ref.Stop()
	finish(t, ref)
	if n := handled.Load(); n != 0 {
		t.Errorf("%d were handled", n)
	}
}

// A function receives from channels: a message to it is a dead letter, and what that
// carries is released.
func TestAMessageToAFunction(t *testing.T) {
	sys := newSystem(t)
	ref := start(t, sys, "function", sys.Device(0), func(s *Stream) error { s.Rest(); return nil })
	finish(t, start(t, sys, "sender", sys.Device(0), func(s *Stream) error {
		b, err := filled(s, 1)
		return errors.Join(err, s.Send(ref.PID(), parcel{b}))
	}))
	answers(t, sys.Root().RequestFuture(ref.PID(), 1, longest), "the function", func(_ any, err error) bool { return errors.Is(err, ErrDeadLetter) })
	until(t, "what it carried is released", func() bool { return sys.Counts().Reclaimed == 1 })
	ref.Stop()
	finish(t, ref)
}

func TestNoActorHasThisPID(t *testing.T) {
	sys := newSystem(t)
	finish(t, start(t, sys, "sender", sys.Device(0), func(s *Stream) error {
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		for _, to := range []*PID{nil, proto.NewPID(s.Ref().PID().Address, "nobody"), proto.NewPID("elsewhere:1", s.Ref().PID().Id)} {
			if err := s.Send(to, parcel{b}); !errors.Is(err, ErrNoActor) {
				t.Errorf("Stream.Send to %v: %v", to, err)
			}
			if err := sys.Send(s.Context(), to, 1); !errors.Is(err, ErrNoActor) {
				t.Errorf("System.Send to %v: %v", to, err)
			}
		}
		return holds(s, b, 1)
	}))
}
