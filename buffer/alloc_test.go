package buffer

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/device"
)

func TestNew(t *testing.T) {
	r := newRig(t, 0)
	u := r.user(r.devs[1], "u")
	for _, n := range []int{0, 1, 3, 1000, 1 << 20} {
		b, err := New[uint16](u, n)
		r.ok(err)
		if b.Len() != n || b.Bytes() != uint64(2*n) || b.Device() != r.devs[1] || !b.Owned(u.o) || b.State() != Exclusive {
			t.Errorf("%d elements: %d of %d bytes on %v, %v", n, b.Len(), b.Bytes(), b.Device(), b.State())
		}
		r.ok(b.Release(u))
	}
	for n, want := range map[int]struct {
		is   error
		says string
	}{
		-1:              {cudart.ErrInvalidValue, "a negative length"},
		math.MinInt:     {cudart.ErrInvalidValue, "a negative length"},
		math.MaxInt:     {cudart.ErrOutOfMemory, "larger than any device"},
		1 << 62:         {cudart.ErrOutOfMemory, "larger than any device"},
		device.MaxAlloc: {cudart.ErrOutOfMemory, "larger than any device"},
	} {
		if _, err := New[uint16](u, n); !errors.Is(err, want.is) || !strings.Contains(err.Error(), want.says) {
			t.Errorf("%d elements: %v", n, err)
		}
	}
}

// Where the budget is used up New submits what is pending and waits for releases,
// first of all its own.
func TestNewWaitsForTheBudget(t *testing.T) {
	const budget, n = 4 << 20, 1 << 20 // of four bytes: all of it
	t.Run("its own releases, not submitted", func(t *testing.T) {
		r := newRig(t, budget)
		a, g := r.user(r.devs[0], "A"), r.gate()
		x, err := New[uint32](a, n)
		r.ok(err)
		g.hold(a)
		r.ok(a.fill(x, 1))
		r.ok(x.Release(a))
		looked := 0
		a.waited = func() {
			if looked++; looked == 10 {
				g.open()
			}
		}
		y, err := New[uint16](a, n) // of another class: the block itself does not do
		r.ok(err)
		if looked < 10 {
			t.Error("did not wait")
		}
		r.ok(y.Release(a))
	})
	t.Run("somebody else's", func(t *testing.T) {
		r := newRig(t, budget)
		a, b := r.user(r.devs[0], "A"), r.user(r.devs[0], "B")
		x, err := New[uint32](a, n)
		r.ok(err)
		r.ok(a.fill(x, 1))
		a.sync()
		looked := 0
		b.waited = func() {
			if looked++; looked == 10 {
				r.ok(x.Release(a))
			}
		}
		y, err := New[uint32](b, n)
		r.ok(err)
		if looked < 10 || !y.Owned(b.o) {
			t.Error("did not wait")
		}
	})
	t.Run("until its context ends", func(t *testing.T) {
		r := newRig(t, budget)
		a, b := r.user(r.devs[0], "A"), r.user(r.devs[0], "B")
		_, err := New[uint32](a, n)
		r.ok(err)
		stop := errors.New("stop")
		b.waited = func() { b.cancel(stop) }
		_, err = New[uint32](b, 1)
		if !errors.Is(err, stop) || !strings.Contains(err.Error(), "1 uint32 for B: stopped while waiting for device memory: 4 MiB of 4 MiB held: stop") {
			t.Errorf("%v", err)
		}
	})
	t.Run("never for more than all of it", func(t *testing.T) {
		r := newRig(t, budget)
		a := r.user(r.devs[0], "A")
		a.waited = func() { t.Error("waited") }
		var over *device.BudgetError
		if _, err := New[uint32](a, n+1); !errors.Is(err, cudart.ErrOutOfMemory) || !errors.As(err, &over) || over.Budget != budget {
			t.Errorf("%v", err)
		}
	})
}

// The point of a buffer for another stream's first use can be waited for at once:
// it has been submitted, and an event stands for it.
func TestNewElsewhere(t *testing.T) {
	r := newRig(t, 0)
	a, other := r.user(r.devs[0], "A"), r.user(r.devs[0], "other")
	g := r.gate()
	const n = 1 << 18
	x, err := New[uint32](a, n)
	r.ok(err)
	out, err := New[uint32](a, n)
	r.ok(err)
	r.ok(a.fill(x, 7))
	other.sync()
	a.sync()
	g.hold(a)
	r.ok(a.copy(out, x)) // still reads x's memory when that is y's
	r.ok(x.Release(a))
	y, ready, err := NewElsewhere[uint32](a, n)
	r.ok(err)
	if y.Block() == nil || a.o.Stream.Pending() != 0 || ready.Stream() != a.o.Stream || ready.Known() {
		t.Fatalf("ready at %v, %d commands pending", ready, a.o.Stream.Pending())
	}
	r.ok(other.o.Stream.WaitFor(ready, "the destination's last use"))
	r.ok(other.o.Stream.Fill(y.Block().Ptr(), 9, 4, n, nil, 0))
	end, err := other.o.Stream.Flush(true)
	r.ok(err)
	if done, err := end.Done(r.cur); done || err != nil {
		t.Fatalf("the other stream did not wait (%v)", err)
	}
	g.open()
	other.sync()
	if got := read(a, out); got[0] != 7 || got[n-1] != 7 {
		t.Errorf("read %d … %d", got[0], got[n-1])
	}

	z, ready, err := NewElsewhere[uint32](a, n) // there is one that is complete, or the driver's
	if err != nil || !z.Owned(a.o) {
		t.Errorf("%v, ready at %v", err, ready)
	}
	if _, _, err := NewElsewhere[uint32](a, -1); !errors.Is(err, cudart.ErrInvalidValue) {
		t.Errorf("%v", err)
	}
}

// Where what is pending is refused there is no buffer, and none is left behind.
func TestNewElsewhereRefused(t *testing.T) {
	r := newRig(t, 0)
	a, g := r.user(r.devs[0], "A"), r.gate()
	x, err := New[uint32](a, 1<<18)
	r.ok(err)
	r.ok(a.fill(x, 1))
	a.sync()
	g.hold(a)
	r.ok(a.fill(x, 2))
	r.ok(x.Release(a)) // the only block there is, and not submitted
	r.rt.refuses(func(c cudart.Command) bool { return c.Op == cudart.OpLaunch })
	live := Live()
	_, _, err = NewElsewhere[uint32](a, 1<<18)
	r.rt.refuses(nil)
	if err == nil || Live() != live {
		t.Errorf("%v, %d buffers live, there were %d", err, Live(), live)
	}
}
