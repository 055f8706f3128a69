package actor

import (
	"testing"

	proto "github.com/asynkron/protoactor-go/actor"
)

// Who made ordinary goroutines ready gives up its processor once, and spins again
// afterwards.
func TestNoSpinAfterWorkWasGiven(t *testing.T) {
	th := &Thread{sys: &System{maySpin: 1 << 20}}
	th.incoming.Store(1)
	th.gaveWork.Store(true)
	if th.spin() {
		t.Error("it spins")
	}
	if !th.spin() {
		t.Error("it does not spin afterwards")
	}
}

// Which sends of a handler make an ordinary goroutine ready.
func TestWhatGivesWork(t *testing.T) {
	sys := newSystem(t)
	far := spawn(t, sys, "far", sys.Device(0), func(Context) {})
	future := proto.NewFuture(sys.ActorSystem(), longest)
	waits, looks := waiter{ch: make(chan struct{}, 1)}, waiter{ch: make(chan struct{}, 1)}
	blocked, awake := sys.inquire(far.PID(), &waits), sys.inquire(far.PID(), &looks)
	if !blocked.waits() {
		t.Error("there is nothing to wait for")
	}
	plain := NewChan[int](1)
	received := make(chan error, 1)
	go func() {
		_, err := plain.RecvCtx(soon(t))
		received <- err
	}()
	until(t, "the goroutine waits", func() bool {
		plain.mu.Lock()
		defer plain.mu.Unlock()
		return plain.receivers.first != nil
	})
	type sending struct {
		name string
		send func(Context)
		want bool
	}
	result := make(chan bool)
	ref := spawn(t, sys, "a", sys.Device(0), func(ctx Context) {
		if c, ok := ctx.Message().(sending); ok {
			th := StreamOf(ctx).t
			th.gaveWork.Store(false)
			c.send(ctx)
			result <- th.gaveWork.Swap(false)
		}
	})
	for _, c := range []sending{
		{"to a stream actor", func(ctx Context) { ctx.Send(far.PID(), 1) }, false},
		{"to it again", func(ctx Context) { ctx.Send(far.PID(), 1) }, false},
		{"to a future", func(ctx Context) { ctx.Send(future.PID(), 1) }, true},
		{"to one that is gone", func(ctx Context) { ctx.Send(future.PID(), 1) }, false},
		{"to who is blocked", func(ctx Context) { ctx.Send(blocked.pid, 1) }, true},
		{"to who looks for the answer", func(ctx Context) { ctx.Send(awake.pid, 1) }, false},
		{"through a channel", func(ctx Context) {
			if err := plain.Send(StreamOf(ctx), 1); err != nil {
				t.Error(err)
			}
		}, true},
		{"through a channel where nobody waits", func(ctx Context) {
			if err := plain.Send(StreamOf(ctx), 1); err != nil {
				t.Error(err)
			}
		}, false},
	} {
		sys.Root().Send(ref.PID(), c)
		if got := await(t, c.name, result); got != c.want {
			t.Errorf("%s: work was given: %v", c.name, got)
		}
	}
	if err := await(t, "the goroutine has received", received); err != nil {
		t.Error(err)
	}
	blocked.close()
	awake.close()
	ref.Stop()
	far.Stop()
	finish(t, ref, far)
}

// An answer that comes while the asker looks needs no wake-up, and one that comes
// afterwards wakes it: none is missed in between.
func TestAnAnswerIsLookedFor(t *testing.T) {
	sys := newSystem(t)
	sys.maySpin = 1 << 20
	ref := spawn(t, sys, "a", sys.Device(0), func(Context) {})
	ask := func() (*inquiry, chan struct{}) {
		w := &waiter{ch: make(chan struct{}, 1)}
		return sys.inquire(ref.PID(), w), w.ch
	}
	first, ch := ask()
	first.deliver(1)
	if !first.look() || len(ch) != 0 {
		t.Error("the answer was there, and was not found, or woke its asker")
	}
	second, ch := ask()
	if second.look() {
		t.Error("an answer was found where there is none")
	}
	second.deliver(2)
	if second.waits() || len(ch) != 0 {
		t.Error("an answer that came before the asker waited is waited for")
	}
	third, ch := ask()
	if !third.waits() {
		t.Error("there is nothing to wait for")
	}
	third.deliver(3)
	if len(ch) != 1 {
		t.Error("the asker was not woken")
	}
	for i, q := range []*inquiry{first, second, third} {
		if v, ok := q.close(); !ok || v != i+1 {
			t.Errorf("the answer is %v, %v", v, ok)
		}
	}
	ref.Stop()
	finish(t, ref)
}

// Nobody looks where that may leave no processor for who would answer, or where
// CPU time is not to be spent.
func TestWhoMayNotLook(t *testing.T) {
	sys := newSystem(t)
	ref := spawn(t, sys, "a", sys.Device(0), func(Context) {})
	w := waiter{ch: make(chan struct{}, 1)}
	q := sys.inquire(ref.PID(), &w)
	q.deliver(1) // it would be found
	for _, c := range []struct {
		maySpin int32
		policy  Policy
		want    bool
	}{{0, Balanced, false}, {0, Latency, false}, {1 << 20, Frugal, false}, {1 << 20, Balanced, true}} {
		q.sys = &System{maySpin: c.maySpin, policy: c.policy, pids: sys.pids}
		if got := q.look(); got != c.want {
			t.Errorf("%v with room for %d: found %v", c.policy, c.maySpin, got)
		}
	}
	q.sys = sys
	q.close()
	ref.Stop()
	finish(t, ref)
}
