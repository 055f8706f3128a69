package buffer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/device"
)

// model is what a test expects of a buffer.
type model struct {
	state State
	owner *user // nil: nobody, or in flight
}

// action is what somebody can do to a handle. legal reports whether it may succeed,
// and makes the change.
type action struct {
	name  string
	do    func(w *world) error
	legal func(m *model) bool
}

type world struct {
	a, b *user
	h    Buf[uint32]
	r    *rig
	more []Buf[uint32] // later lives of the slot
}

func actionsOf(name string, who func(w *world) *user, isA bool) []action {
	is := func(m *model) bool { return m.owner != nil && (m.owner.o.Name == "A") == isA }
	return []action{
		{name + " uses", func(w *world) error {
			u := who(w)
			w.r.on(u.o.Stream.Device())
			_, _, err := w.h.Use(u.o, cudart.InOut)
			return err
		}, is},
		{name + " releases", func(w *world) error { return w.h.Release(who(w)) }, func(m *model) bool {
			if !is(m) {
				return false
			}
			m.state, m.owner = Free, nil
			return true
		}},
		{name + " gives", func(w *world) error { return who(w).give(w.h.Handle) }, func(m *model) bool {
			if !is(m) {
				return false
			}
			m.state, m.owner = InFlight, nil
			return true
		}},
		{name + " takes", func(w *world) error { return who(w).take(w.h.Handle) }, func(m *model) bool {
			return m.state == InFlight
		}},
	}
}

// TestM6_OwnershipInEveryOrder: every sequence of what two users can do to a buffer:
// whoever does not own it is refused, with an error that names the buffer, who
// asked, and who owns it or what became of it; also when the slot lives again.
func TestM6_OwnershipInEveryOrder(t *testing.T) {
	r := newRig(t, 0)
	a, b := r.user(r.devs[0], "A"), r.user(r.devs[0], "B")
	acts := append(actionsOf("A", func(w *world) *user { return w.a }, true),
		actionsOf("B", func(w *world) *user { return w.b }, false)...)
	acts = append(acts, action{"the slot is used again", func(w *world) error {
		again, err := New[uint32](w.b, 4)
		w.more = append(w.more, again)
		return err
	}, func(*model) bool { return true }})
	depth := 4
	if testing.Short() {
		depth = 3
	}
	sequence := make([]int, depth)
	for n := 0; ; n++ {
		w := &world{a: a, b: b, r: r}
		var err error
		w.h, err = New[uint32](a, 4)
		r.ok(err)
		m := &model{state: Exclusive, owner: a}
		var done []string
		for _, i := range sequence {
			act := acts[i]
			done = append(done, act.name)
			before := *m
			legal := act.legal(m)
			err := act.do(w)
			if strings.HasSuffix(act.name, "takes") && legal {
				if m.state, m.owner = Exclusive, a; act.name[0] == 'B' {
					m.owner = b
				}
			}
			if legal != (err == nil) {
				t.Fatalf("%v: %v", done, err)
			}
			if !legal {
				checkOwnership(t, done, err, act.name[:1], &before)
			}
			if w.h.State() != m.state {
				t.Fatalf("%v: the buffer is %v, want %v", done, w.h.State(), m.state)
			}
		}
		if w.h.State() == InFlight {
			r.ok(a.take(w.h.Handle))
		}
		for _, u := range []*user{a, b} { // as an actor's turn ends
			u.o.Reclaim()
			_, err := u.o.Stream.Flush(false)
			r.ok(err)
		}
		if !following(sequence, len(acts)) {
			break
		}
	}
}

// following is the next sequence, until there is none.
func following(s []int, base int) bool {
	for i := range s {
		if s[i]++; s[i] < base {
			return true
		}
		s[i] = 0
	}
	return false
}

func checkOwnership(t *testing.T, done []string, err error, asker string, m *model) {
	t.Helper()
	owner := "released"
	switch {
	case m.state == InFlight:
		owner = "handed over"
	case m.owner != nil:
		owner = strconv.Quote(m.owner.o.Name) + " owns it"
		if strings.HasSuffix(done[len(done)-1], "takes") {
			owner = "owns it"
		}
	}
	var e *OwnershipError
	if !errors.As(err, &e) || e.Asker != asker || !strings.Contains(e.Owner, owner) || !strings.HasPrefix(e.Buffer, "#") {
		t.Fatalf("%v: %v; asked by %s, %q expected", done, err, asker, owner)
	}
}

// TestM6_ForeignBuffers: what is on another device can be sent on and released, and
// used by nobody.
func TestM6_ForeignBuffers(t *testing.T) {
	r := newRig(t, 0)
	a, far := r.user(r.devs[0], "A"), r.user(r.devs[1], "far")
	b, err := New[uint32](a, 4)
	r.ok(err)
	r.ok(b.Fill(a, 3))
	r.ok(a.give(b.Handle))
	r.ok(far.take(b.Handle))
	if b.State() != Foreign {
		t.Fatalf("the buffer is %v", b.State())
	}
	r.ownership(far.fill(b, 1), "far", "pull it here first")
	r.ownership(a.fill(b, 1), "A", `"far" owns it, on another device`)
	src, err := b.Pulling(far.o)
	if err != nil || src.Dev != r.devs[0] || src.Bytes != 16 || src.Block != b.Block() || src.After.Stream() != a.o.Stream {
		t.Errorf("pulling: %+v, %v", src, err)
	}
	_, err = b.Pulling(a.o)
	r.ownership(err, "A", `"far" owns it`)

	r.ok(far.give(b.Handle)) // home again, with A's point
	r.ok(a.take(b.Handle))
	if got := read(a, b); got[3] != 3 {
		t.Errorf("it holds %v", got)
	}
	r.ok(a.give(b.Handle))
	r.ok(far.take(b.Handle))
	r.ok(b.Release(far))
	r.ownership(far.take(b.Handle), "far", "released")
}

// Whoever has ended is named by what is known of it, and debug says where the
// buffer was given away.
func TestOwnersInErrors(t *testing.T) {
	defer func(was bool) { Debug = was }(Debug)
	Debug, device.Debug = true, true
	defer func() { device.Debug = false }()
	r := newRig(t, 0)
	a, b := r.user(r.devs[0], "A"), r.user(r.devs[0], "B")
	x, err := New[uint32](a, 4)
	r.ok(err)
	r.ok(a.give(x.Handle))
	err = a.fill(x, 1)
	r.ownership(errors.Unwrap(err), "A", "handed over")
	var e *OwnershipError
	if errors.As(err, &e); !strings.Contains(e.Given, "_test.go:") || !strings.Contains(err.Error(), e.Given) {
		t.Errorf("it was given away at %q", e.Given)
	}
	r.ok(b.take(x.Handle))
	r.ok(x.Release(b))
	b.end()
	r.ownership(x.Release(a), "A", "released")
	if got := ownerName(b.o.ID); got != fmt.Sprintf("an actor that has ended (%d)", b.o.ID) {
		t.Errorf("%q", got)
	}
	if ownerName(hostID) != "an ordinary goroutine" || ownerName(0) != "nobody" || ownerName(a.o.ID) != "A" {
		t.Error("names of owners")
	}
}

// The zero Buf and the zero Host are no buffers: every use of one is an error that
// says so.
func TestTheZeroBuffer(t *testing.T) {
	r := newRig(t, 0)
	u := r.user(r.devs[0], "u")
	var b Buf[uint32]
	var h Host[uint32]
	if b.Valid() || b.Len() != 0 || b.Bytes() != 0 || b.Device() != nil || b.State() != Free || b.Owned(u.o) || h.Len() != 0 || h.Bytes() != 0 {
		t.Error("the zero buffer has something")
	}
	full, err := New[uint32](u, 4)
	r.ok(err)
	defer func() { r.ok(full.Release(u)) }()
	for name, do := range map[string]func() error{
		"release":      func() error { return b.Release(u) },
		"fill":         func() error { return b.Fill(u, 1) },
		"in":           func() error { return u.copy(full, b) },
		"out":          func() error { return u.fill(b, 1) },
		"use":          func() error { _, _, err := b.Use(u.o, cudart.In); return err },
		"pull":         func() error { _, err := b.Pulling(u.o); return err },
		"raw":          func() error { return u.o.Stream.Uses(u.o.ID, b.InOut()) },
		"host release": func() error { return h.Release(u) },
		"host slice":   func() error { _, err := h.Slice(u); return err },
		"host copy":    func() error { _, _, err := h.Copying(u.o, cudart.In); return err },
	} {
		t.Run(name, func(t *testing.T) {
			var e *OwnershipError
			if err := do(); !errors.As(err, &e) || e.Buffer != "the zero buffer" || e.Asker != "u" || e.Owner != "it was never allocated" {
				t.Errorf("%v", err)
			}
		})
	}
	var e *OwnershipError
	if _, err := h.SliceCtx(t.Context()); !errors.As(err, &e) || e.Buffer != "the zero buffer" {
		t.Errorf("%v", err)
	}
	if err := h.ReleaseHere(); !errors.As(err, &e) || e.Buffer != "the zero buffer" {
		t.Errorf("%v", err)
	}
	if hs := handles(b.Handle, h.Handle); hs.Len() != 0 {
		t.Error("the zero buffer is listed")
	}
}

// Who may not speak for the owner is refused everywhere, with the owner's reason.
func TestAUserThatIsRefused(t *testing.T) {
	r := newRig(t, 0)
	u := r.user(r.devs[0], "u")
	b, err := New[uint32](u, 4)
	r.ok(err)
	h, err := NewHost[uint32](u, 4)
	r.ok(err)
	u.err = errors.New("not your goroutine")
	for name, do := range map[string]func() error{
		"new":           func() error { _, err := New[uint32](u, 1); return err },
		"new elsewhere": func() error { _, _, err := NewElsewhere[uint32](u, 1); return err },
		"new host":      func() error { _, err := NewHost[uint32](u, 1); return err },
		"release":       func() error { return b.Release(u) },
		"fill":          func() error { return b.Fill(u, 1) },
		"slice":         func() error { _, err := h.Slice(u); return err },
		"host release":  func() error { return h.Release(u) },
	} {
		if err := do(); err != u.err {
			t.Errorf("%s: %v", name, err)
		}
	}
	u.err = nil
	r.ok(b.Release(u))
	r.ok(h.Release(u))
}

// Stale copies of a handle are noticed whoever holds the slot's next life.
func TestStaleHandles(t *testing.T) {
	r := newRig(t, 0)
	u := r.user(r.devs[0], "u")
	old, err := New[uint32](u, 4)
	r.ok(err)
	r.ok(old.Release(u))
	again, err := New[uint32](u, 8)
	r.ok(err)
	if again.x != old.x {
		t.Fatal("the slot was not used again: the test shows nothing")
	}
	if old.Valid() || old.Len() != 0 || old.Bytes() != 0 || old.Device() != nil || old.State() != Free || old.Owned(u.o) {
		t.Error("the stale handle answers for the slot's next life")
	}
	r.ownership(old.Release(u), "u", "released")
	_, _, err = old.Use(u.o, cudart.Out)
	r.ownership(err, "u", "released")
	r.ownership(u.give(old.Handle), "u", "released")
	if w, gen := old.Written(); true {
		w.Poison(gen, errRefused)
		w.Issued(gen)
	}
	if again.State() != Exclusive || again.Len() != 8 {
		t.Errorf("the next life is %v of %d", again.State(), again.Len())
	}
	r.ok(again.Release(u))
}
