package actor

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/buffer"
)

func TestNewChan(t *testing.T) {
	for bound, want := range map[int]int{-1: 1, 0: 1, 1: 1, 8: 8} {
		if got := NewChan[int](bound).Cap(); got != want {
			t.Errorf("a bound of %d gives %d, want %d", bound, got, want)
		}
	}
}

type (
	inFields struct {
		A    Buf
		Rest [2]struct{ B Host }
		N    int
	}
	hiddenSlice   struct{ Bs []Buf }
	hiddenPointer struct{ B *Buf }
	hiddenMap     map[string]Host
	listed        struct{ Bs []Buf }
	recursive     struct{ Next *recursive }
)

func (l listed) Carry(h *buffer.Handles) {
	for _, b := range l.Bs {
		h.Add(b.Handle)
	}
}

// A type that hides buffers from a hand-off is a mistake in the program.
func TestNewChanRefusesHiddenBuffers(t *testing.T) {
	for what, c := range map[string]struct {
		make   func()
		hidden string // what the panic names
	}{
		"a number":               {func() { NewChan[int](1) }, ""},
		"a buffer":               {func() { NewChan[Buf](1) }, ""},
		"fields":                 {func() { NewChan[inFields](1) }, ""},
		"an array":               {func() { NewChan[[3]Buf](1) }, ""},
		"a listed slice":         {func() { NewChan[listed](1) }, ""},
		"a slice of numbers":     {func() { NewChan[[]int](1) }, ""},
		"a type of itself":       {func() { NewChan[recursive](1) }, ""},
		"a hidden slice":         {func() { NewChan[hiddenSlice](1) }, "slice"},
		"a hidden pointer":       {func() { NewChan[hiddenPointer](1) }, "ptr"},
		"a hidden map":           {func() { NewChan[hiddenMap](1) }, "map"},
		"a channel of buffers":   {func() { NewChan[chan Buf](1) }, ""}, // what is in it is not carried
		"a pointer to a pointer": {func() { NewChan[**inFields](1) }, "ptr"},
	} {
		func() {
			defer func() {
				v := recover()
				switch {
				case c.hidden == "" && v != nil:
					t.Errorf("%s: panicked: %v", what, v)
				case c.hidden != "" && v == nil:
					t.Errorf("%s: accepted", what)
				case c.hidden != "":
					if text := fmt.Sprint(v); !strings.Contains(text, c.hidden) || !strings.Contains(text, "Carry") {
						t.Errorf("%s: %q names neither the %s nor the way out", what, text, c.hidden)
					}
				}
			}()
			c.make()
		}()
	}
}

// What several senders send arrives once each, and of each sender in its order.
func TestChanIsFirstInFirstOut(t *testing.T) {
	const senders, receivers, each = 4, 3, 200
	sys := newSystem(t)
	th := sharedThread(t, sys)
	items := NewChan[[2]int](3)
	var refs []*Ref
	for i := range senders {
		at := Placement(sys.Device(0))
		if i%2 == 0 {
			at = On(th)
		}
		refs = append(refs, start(t, sys, fmt.Sprint("sender ", i), at, func(s *Stream) error {
			for n := range each {
				if err := items.Send(s, [2]int{i, n}); err != nil {
					return err
				}
				if l := items.Len(); l > items.Cap() {
					t.Errorf("%d values in a channel of %d", l, items.Cap())
				}
			}
			return nil
		}))
	}
	got := make([][][2]int, receivers)
	var ends []*Ref
	for i := range receivers {
		at := Placement(sys.Device(1))
		if i == 0 {
			at = On(th)
		}
		ends = append(ends, start(t, sys, fmt.Sprint("receiver ", i), at, func(s *Stream) error {
			for v, err := range items.All(s) {
				if err != nil {
					return err
				}
				got[i] = append(got[i], v)
			}
			return nil
		}))
	}
	finish(t, refs...)
	items.Close()
	finish(t, ends...)
	seen := map[[2]int]bool{}
	for i, vs := range got {
		last := map[int]int{}
		for _, v := range vs {
			if before, ok := last[v[0]]; ok && before >= v[1] {
				t.Errorf("receiver %d: sender %d's %d came after its %d", i, v[0], v[1], before)
			}
			last[v[0]] = v[1]
			if seen[v] {
				t.Errorf("%v arrived twice", v)
			}
			seen[v] = true
		}
	}
	if len(seen) != senders*each {
		t.Errorf("%d values arrived, want %d", len(seen), senders*each)
	}
}

// A full channel waits, and no longer than its sender's context.
func TestChanBound(t *testing.T) {
	sys := newSystem(t)
	items := NewChan[Buf](2)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("no longer")
	ref := start(t, sys, "sender", sys.Device(0), func(s *Stream) error {
		var bs []Buf
		for i := range 3 {
			b, err := filled(s, uint32(i))
			if err != nil {
				return err
			}
			bs = append(bs, b)
		}
		if err := errors.Join(items.Send(s, bs[0]), items.Send(s, bs[1])); err != nil {
			return err
		}
		err := items.Send(s, bs[2])
		if !errors.Is(err, why) {
			t.Errorf("the third: %v, want the context's cause", err)
		}
		for i, want := range []buffer.State{buffer.InFlight, buffer.InFlight, buffer.Exclusive} {
			if got := bs[i].State(); got != want {
				t.Errorf("buffer %d is %v, want %v", i, got, want)
			}
		}
		o, _ := s.Owner()
		if !bs[2].Owned(o) {
			t.Error("the undelivered buffer is not its sender's")
		}
		return errors.Join(fill(s, bs[2], 5), bs[2].Release(s)) // and may be used as before
	}, WithContext(ctx))
	suspended(t, ref)
	if n := items.Len(); n != 2 {
		t.Errorf("%d values in the channel, want 2", n)
	}
	cancel(why)
	finish(t, ref)
	if n := items.Discard(); n != 2 {
		t.Errorf("%d buffers discarded, want 2", n)
	}
}

// Close wakes everybody, and what is in the channel is still received.
func TestChanClose(t *testing.T) {
	sys := newSystem(t)
	empty, full := NewChan[int](1), NewChan[int](1)
	if err := full.SendCtx(soon(t), 1); err != nil {
		t.Fatal(err)
	}
	var refs []*Ref
	for range 3 {
		refs = append(refs,
			start(t, sys, "receiver", sys.Device(0), func(s *Stream) error { _, err := empty.Recv(s); return err }),
			start(t, sys, "sender", sys.Device(0), func(s *Stream) error { return full.Send(s, 2) }))
	}
	errs := make(chan error, 2)
	go func() { _, err := empty.RecvCtx(soon(t)); errs <- err }()
	go func() { errs <- full.SendCtx(soon(t), 2) }()
	waiting(t, empty, &empty.receivers, 4)
	waiting(t, full, &full.senders, 4)
	for range 2 { // a second Close does nothing
		empty.Close()
		full.Close()
	}
	for _, r := range refs {
		if err := r.Wait(soon(t)); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", r.Name(), err)
		}
	}
	for range 2 {
		if err := await(t, "the goroutines are woken", errs); !errors.Is(err, ErrClosed) {
			t.Errorf("%v, want ErrClosed", err)
		}
	}
	if v, err := full.RecvCtx(soon(t)); v != 1 || err != nil {
		t.Errorf("what was in it: %d, %v", v, err)
	}
	if _, err := full.RecvCtx(soon(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("an empty closed channel: %v", err)
	}
}

// waiting waits until n stand in a queue of a channel.
func waiting[T any](t testing.TB, c *Chan[T], q *waitQueue, n int) {
	t.Helper()
	until(t, fmt.Sprintf("%d are waiting", n), func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		k := 0
		for w := q.first; w != nil; w = w.next {
			k++
		}
		return k == n
	})
}

// An error comes as the last pair of All.
func TestChanAllEndsWithItsError(t *testing.T) {
	sys := newSystem(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("no longer")
	items := NewChan[int](2)
	var pairs []string
	ref := start(t, sys, "receiver", sys.Device(0), func(s *Stream) error {
		for v, err := range items.All(s) {
			pairs = append(pairs, fmt.Sprint(v, " ", err))
		}
		return nil
	}, WithContext(ctx))
	for i := range 2 {
		if err := items.SendCtx(soon(t), i+1); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "it has taken both", func() bool { return items.Len() == 0 })
	suspended(t, ref)
	cancel(why)
	finish(t, ref)
	if want := []string{"1 <nil>", "2 <nil>", "0 no longer"}; !reflect.DeepEqual(pairs, want) {
		t.Errorf("pairs %q, want %q", pairs, want)
	}
}

// One may leave the loop at any time; the rest stays in the channel.
func TestChanAllIsLeft(t *testing.T) {
	sys := newSystem(t)
	items := NewChan[int](3)
	for i := range 3 {
		if err := items.SendCtx(soon(t), i); err != nil {
			t.Fatal(err)
		}
	}
	finish(t, start(t, sys, "receiver", sys.Device(0), func(s *Stream) error {
		for v := range items.All(s) {
			if v == 1 {
				break
			}
		}
		return nil
	}))
	if n := items.Len(); n != 1 {
		t.Errorf("%d values are left, want 1", n)
	}
}
