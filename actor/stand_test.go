package actor

import (
	"errors"
	"runtime"
	"slices"
	"testing"
)

// Who stands in for the loop is not touched by how those end whom it serves.
func TestWhoStandsInIsNotTouched(t *testing.T) {
	failed := errors.New("failed")
	for _, c := range []struct {
		what string
		end  func() error
		is   func(error) bool
	}{
		{"returns", func() error { return nil }, func(err error) bool { return err == nil }},
		{"fails", func() error { return failed }, func(err error) bool { return errors.Is(err, failed) }},
		{"panics", func() error { panic("boom") }, func(err error) bool { var p *PanicError; return errors.As(err, &p) && p.Value == "boom" }},
		{"exits", func() error { runtime.Goexit(); return nil }, func(err error) bool { return errors.Is(err, ErrGoexit) }},
	} {
		t.Run(c.what, func(t *testing.T) {
			sys := newSystem(t)
			th := sharedThread(t, sys)
			there, back := NewChan[int](1), NewChan[int](1)
			stoodIn := false
			var by *Stream
			served := receiver(t, sys, th, there, func(s *Stream, _ int) error {
				stoodIn = by != nil && s.t.stand.by == by
				if err := by.Submit(); !isThreadError(err) {
					t.Errorf("a call for who stands in: %v", err)
				}
				return c.end()
			})
			stands := start(t, sys, "stands in", On(th), func(s *Stream) error {
				by = s
				if err := there.Send(s, 1); err != nil {
					return err
				}
				v, err := back.Recv(s)
				if err != nil || v != 2 {
					t.Errorf("received %d, %v", v, err)
				}
				return s.Submit()
			})
			if err := served.Wait(soon(t)); !c.is(err) {
				t.Errorf("who is served ends with %v", err)
			}
			if err := back.SendCtx(soon(t), 2); err != nil {
				t.Fatal(err)
			}
			finish(t, stands)
			if !stoodIn {
				t.Error("it did not stand in: the test tries nothing")
			}
		})
	}
}

func isThreadError(err error) bool { var e *ThreadError; return errors.As(err, &e) }

// Who stood in goes on when those have been served who were woken before it, and can end
// in any way then.
func TestWhoStoodInGoesOnInOrder(t *testing.T) {
	sys := newSystem(t)
	th := sharedThread(t, sys)
	b, c, back := NewChan[int](1), NewChan[int](1), NewChan[int](1)
	var order []string
	note := func(what string) { order = append(order, what) }
	wait := func(s *Stream, c *Chan[int]) error { _, err := c.Recv(s); return err }
	refs := []*Ref{
		receiver(t, sys, th, b, func(s *Stream, v int) error { note("b"); return errors.Join(back.Send(s, v), wait(s, b)) }),
		receiver(t, sys, th, c, func(s *Stream, v int) error { note("c"); return wait(s, c) }),
	}
	a := start(t, sys, "a", On(th), func(s *Stream) error {
		if err := errors.Join(b.Send(s, 1), c.Send(s, 1)); err != nil {
			return err
		}
		if _, err := back.Recv(s); err != nil {
			return err
		}
		note("a")
		runtime.Goexit()
		return nil
	})
	if err := a.Wait(soon(t)); !errors.Is(err, ErrGoexit) {
		t.Errorf("it ended with %v", err)
	}
	if err := errors.Join(b.SendCtx(soon(t), 2), c.SendCtx(soon(t), 2)); err != nil {
		t.Fatal(err)
	}
	finish(t, refs...)
	if !slices.Equal(order, []string{"b", "c", "a"}) {
		t.Errorf("they went on in the order %q", order)
	}
}

// Only what needs nothing of the loop is served by who stands in.
func TestWhatIsSimple(t *testing.T) {
	fn := func(*Stream) error { return nil }
	simple := func(change func(*Stream)) *Stream {
		s := &Stream{fn: fn, live: true, mail: &mailbox{}}
		change(s)
		return s
	}
	var th Thread
	for what, s := range map[string]*Stream{
		"an actor in message style": simple(func(s *Stream) { s.fn = nil }),
		"a function not begun":      simple(func(s *Stream) { s.live = false }),
		"one that is asked":         simple(func(s *Stream) { s.asks.Add(1) }),
		"one with a message":        simple(func(s *Stream) { s.mail.note(userBit) }),
	} {
		if th.simple(s) {
			t.Errorf("%s is simple", what)
		}
	}
	s := simple(func(*Stream) {})
	if !th.simple(s) {
		t.Error("nothing is simple")
	}
	if th.nextIsSimple() {
		t.Error("nobody is ready")
	}
	th.ready.push(s)
	if !th.nextIsSimple() {
		t.Error("somebody is ready")
	}
	th.incoming.Store(1)
	if th.nextIsSimple() {
		t.Error("somebody was posted, who comes first")
	}
	th.incoming.Store(0)
	th.polls.push(s)
	if th.nextIsSimple() {
		t.Error("somebody waits for the GPU, whom nobody would ask for")
	}
}

// A panic of the library's own, while an actor stands in, is not that actor's.
func TestAPanicWhileStandingIn(t *testing.T) {
	s := &Stream{t: &Thread{}, sys: &System{}, ref: &Ref{}, fn: func(*Stream) error { panic("boom") }}
	s.t.stand.by = s
	defer func() {
		if v := recover(); v != "boom" {
			t.Errorf("recovered %v", v)
		}
	}()
	s.function()
}

// Where somebody else decides who comes next, nobody stands in.
func TestNobodyStandsInWhereAnOrderIsGiven(t *testing.T) {
	if th := sharedThread(t, newSystem(t)); !th.inOrder {
		t.Error("no order was given, and nobody stands in")
	}
	if th := sharedThread(t, newSystem(t, WithOrder(&lastCome{}))); th.inOrder {
		t.Error("an order was given, and is not asked")
	}
}
