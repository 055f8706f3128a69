package actor

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/gpuactor/gpuactor/buffer"
)

// Of several cases that are possible each gets its turn.
func TestSelectorIsFair(t *testing.T) {
	sys := newSystem(t)
	finish(t, start(t, sys, "selector", sys.Device(0), func(s *Stream) error {
		var chans [3]*Chan[int]
		var got [3]int
		var cases []Case
		for i := range chans {
			chans[i] = NewChan[int](30)
			for range 30 {
				if err := chans[i].Send(s, i); err != nil {
					return err
				}
			}
			cases = append(cases, Receiving(chans[i], &got[i]))
		}
		sel := NewSelector(cases...)
		var turns [3]int
		for k := range 30 {
			i, err := sel.Wait(s)
			if err != nil {
				return err
			}
			if turns[i]++; got[i] != i {
				t.Errorf("case %d received %d", i, got[i])
			}
			if k == 2 && turns != [3]int{1, 1, 1} {
				t.Errorf("after three turns: %v", turns)
			}
		}
		if turns != [3]int{10, 10, 10} {
			t.Errorf("after thirty turns: %v", turns)
		}
		return nil
	}))
}

// Sending is a case too, and buffers change hands in it.
func TestSelectorSendsAndReceives(t *testing.T) {
	sys := newSystem(t)
	th := sharedThread(t, sys)
	requests, results := NewChan[Buf](1), NewChan[Buf](1)
	const n = 50
	worker := start(t, sys, "worker", On(th), func(s *Stream) error {
		defer results.Close()
		var in, out Buf
		take, give := Receiving(requests, &in), Sending(results, &out)
		sel := NewSelector(take, never{})
		for {
			i, err := sel.Wait(s)
			switch {
			case errors.Is(err, ErrClosed):
				return nil
			case err != nil:
				return err
			case i == 0:
				if err := add(s, in, 1); err != nil {
					return err
				}
				out = in
				sel = NewSelector(never{}, give)
			default:
				sel = NewSelector(take, never{})
			}
		}
	})
	asker := start(t, sys, "asker", On(th), func(s *Stream) error {
		defer requests.Close()
		for i := range n {
			b, err := filled(s, uint32(i))
			if err != nil {
				return err
			}
			if err := requests.Send(s, b); err != nil {
				return err
			}
			if b, err = results.Recv(s); err != nil {
				return err
			}
			if err := holds(s, b, uint32(i+1)); err != nil {
				return err
			}
		}
		return nil
	})
	finish(t, worker, asker)
}

// A closed channel is reported by its case, which can be dropped.
func TestSelectorAndClosedChannels(t *testing.T) {
	sys := newSystem(t)
	finish(t, start(t, sys, "selector", sys.Device(0), func(s *Stream) error {
		a, b := NewChan[int](1), NewChan[int](1)
		var x, y int
		sel := NewSelector(Receiving(a, &x), Receiving(b, &y), Sending(b, &y))
		if err := errors.Join(a.Send(s, 1)); err != nil {
			return err
		}
		a.Close()
		b.Close()
		var story []string
		for range 5 {
			i, err := sel.Wait(s)
			story = append(story, fmt.Sprint(i, " ", err))
			if err != nil {
				sel.Drop(i)
			}
			if len(story) == 4 {
				break
			}
		}
		closed := " " + ErrClosed.Error()
		want := []string{"0 <nil>", "1" + closed, "2" + closed, "0" + closed}
		if fmt.Sprint(story) != fmt.Sprint(want) {
			t.Errorf("%q, want %q", story, want)
		}
		return nil
	}))
}

// The end of the context ends a wait, also one for nothing; nothing stays behind in
// the channels.
func TestSelectorIsCancelled(t *testing.T) {
	sys := newSystem(t)
	for name, dropped := range map[string]bool{"with cases": false, "with none left": true} {
		ctx, cancel := context.WithCancelCause(context.Background())
		why := errors.New("no longer")
		in, out := NewChan[int](1), NewChan[int](1)
		if err := out.SendCtx(soon(t), 1); err != nil {
			t.Fatal(err)
		}
		var v int
		var index int
		ref := start(t, sys, "selector", sys.Device(0), func(s *Stream) (err error) {
			sel := NewSelector(Receiving(in, &v), Sending(out, &v))
			if dropped {
				sel.Drop(0)
				sel.Drop(1)
			}
			index, err = sel.Wait(s)
			return err
		}, WithContext(ctx))
		suspended(t, ref)
		cancel(why)
		if err := ref.Wait(soon(t)); !errors.Is(err, why) || index != -1 {
			t.Errorf("%s: %d, %v", name, index, err)
		}
		waiting(t, in, &in.receivers, 0)
		waiting(t, out, &out.senders, 0)
	}
}

// A case that was woken and not used leaves its turn to the next in the queue.
func TestSelectorPassesOn(t *testing.T) {
	sys := newSystem(t)
	th := sharedThread(t, sys)
	a, b := NewChan[int](2), NewChan[int](2)
	var x, y int
	selector := start(t, sys, "selector", On(th), func(s *Stream) error {
		_, err := NewSelector(Receiving(a, &x), Receiving(b, &y)).Wait(s)
		return err
	})
	suspended(t, selector)
	receivers := []*Ref{
		start(t, sys, "receiver of a", On(th), func(s *Stream) error { _, err := a.Recv(s); return err }),
		start(t, sys, "receiver of b", On(th), func(s *Stream) error { _, err := b.Recv(s); return err }),
	}
	waiting(t, a, &a.receivers, 2)
	waiting(t, b, &b.receivers, 2)
	// Both wake the selector, which takes one of the two; the other is its neighbour's.
	finish(t, start(t, sys, "sender", On(th), func(s *Stream) error {
		return errors.Join(a.Send(s, 1), b.Send(s, 1))
	}))
	finish(t, selector)
	rest := a
	if x != 0 {
		rest = b
	}
	until(t, "the other value is taken", func() bool { return rest.Len() == 0 })
	a.Close()
	b.Close()
	for _, r := range receivers {
		if err := r.Wait(soon(t)); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
}

// A value that cannot be sent is the case's error, and stays the sender's.
func TestSelectorAndOwnership(t *testing.T) {
	sys := newSystem(t)
	finish(t, start(t, sys, "selector", sys.Device(0), func(s *Stream) error {
		items := NewChan[Buf](1)
		b, err := filled(s, 1)
		if err := errors.Join(err, b.Release(s)); err != nil {
			return err
		}
		var own *buffer.OwnershipError
		if i, err := NewSelector(Sending(items, &b)).Wait(s); i != 0 || !errors.As(err, &own) {
			t.Errorf("%d, %v", i, err)
		}
		return nil
	}))
}
