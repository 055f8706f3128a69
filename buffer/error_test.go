package buffer

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/device"
)

// says states that an error reads so; # in it stands for a buffer's number.
func (r *rig) says(err error, want string) {
	r.Helper()
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(want), "#", `#\d+\.\d+`) + "$"
	if !regexp.MustCompile(pattern).MatchString(fmt.Sprint(err)) {
		r.Errorf("%q, want %q", err, want)
	}
}

// debug sets whether places are recorded, for one test.
func (r *rig) debug(on bool) {
	was, below := Debug, device.Debug
	r.Cleanup(func() { Debug, device.Debug = was, below })
	Debug, device.Debug = on, on
}

// The error says what the buffer is, who asked, and who owns it or what became of it.
func TestWhatAnOwnershipErrorSays(t *testing.T) {
	r := newRig(t, 0)
	r.debug(false)
	a, b, far := r.user(r.devs[0], "a"), r.user(r.devs[0], "b"), r.user(r.devs[1], "far")
	const hint = " (GPUACTOR_DEBUG=1 records places)"
	x, err := New[float32](a, 1024)
	r.ok(err)
	r.says(x.Release(b), `buffer: # (1024 float32 on device 0) is not "b"'s to use: "a" owns it`+hint)
	r.ok(a.give(x.Handle))
	r.says(x.Release(a), `buffer: # (1024 float32 on device 0) is not "a"'s to use: it has been handed over, and nobody has taken it yet`+hint)
	r.ok(far.take(x.Handle))
	_, _, err = x.Use(far.o, cudart.In)
	r.says(err, `buffer: # (1024 float32 on device 0) is not "far"'s to use: its memory is another device's: pull it here first`+hint)
	r.says(x.Release(a), `buffer: # (1024 float32 on device 0) is not "a"'s to use: "far" owns it, on another device`+hint)
	x.Pulled(far.o, device.Point{})
	r.says(x.Release(far), `buffer: # (1024 float32 on device 0) is not "far"'s to use: it has been pulled to another device`+hint)

	h, err := NewHost[uint16](far, 3)
	r.ok(err)
	r.says(h.ReleaseHere(), `buffer: # (3 uint16 pinned, on device 1) is not an ordinary goroutine's to use: "far" owns it`+hint)
	r.ok(h.Release(far))
	r.says(h.Release(far), `buffer: # (3 uint16 pinned, on device 1) is not "far"'s to use: it has been released`+hint)
	r.says(Buf[uint8]{}.Release(a), `buffer: the zero buffer is not "a"'s to use: it was never allocated`)

	y, err := New[uint8](a, 1)
	r.ok(err)
	r.ok(a.give(y.Handle))
	Drop(handles(y.Handle))
	r.says(y.Release(b), `buffer: # (1 uint8 on device 0) is not "b"'s to use: it has been released undelivered: it was sent, and nobody took it`+hint)
	z, err := New[uint8](b, 1)
	r.ok(err)
	b.end()
	r.says(z.Release(a), `buffer: # (1 uint8 on device 0) is not "a"'s to use: it has been released when its owner ended`+hint)

	old, err := New[uint8](a, 1)
	r.ok(err)
	r.ok(old.Release(a))
	again, err := New[float64](a, 7)
	r.ok(err)
	if again.x != old.x {
		t.Fatal("the slot was not used again: the test shows nothing")
	}
	r.says(old.Release(a), `buffer: # is not "a"'s to use: it has been released or pulled, and its place is another's`+hint)
	r.ok(again.Release(a))
}

// Every slot has a number of its own.
func TestNumbers(t *testing.T) {
	r := newRig(t, 0)
	u := r.user(r.devs[0], "u")
	seen := map[uint32]bool{}
	var all []Buf[uint8]
	for range 3 * slabLen {
		b, err := New[uint8](u, 0)
		r.ok(err)
		if n := b.x.number; n == 0 || seen[n] {
			t.Fatalf("number %d", n)
		}
		seen[b.x.number] = true
		all = append(all, b)
	}
	for _, b := range all {
		r.ok(b.Release(u))
	}
}

// In debug the last that happened to the buffer is said with its place, and never
// what happened to the slot's next one.
func TestPlacesInErrors(t *testing.T) {
	r := newRig(t, 0)
	r.debug(true)
	a, b := r.user(r.devs[0], "a"), r.user(r.devs[0], "b")
	at := func(err error, what string) {
		t.Helper()
		var e *OwnershipError
		if !errors.As(err, &e) || !strings.HasPrefix(e.Given, what+" ") || !strings.Contains(e.Given, "error_test.go:") || !strings.HasSuffix(err.Error(), "("+e.Given+")") {
			t.Errorf("%v, want %s a place here", err, what)
		}
	}
	x, err := New[uint8](a, 1)
	r.ok(err)
	at(x.Release(b), "allocated at")
	r.ok(a.give(x.Handle))
	var e *OwnershipError
	if err := x.Release(b); !errors.As(err, &e) || !strings.HasPrefix(e.Given, "given away at ") {
		t.Errorf("%v", err)
	}
	r.ok(a.take(x.Handle))
	r.ok(x.Release(a))
	at(x.Release(a), "released at")
	again, err := New[uint8](a, 1)
	r.ok(err)
	if again.x != x.x {
		t.Fatal("the slot was not used again: the test shows nothing")
	}
	if err := x.Release(a); !errors.As(err, &e) || e.Given != "" || strings.Contains(err.Error(), "GPUACTOR_DEBUG") {
		t.Errorf("of the next life: %v", err)
	}
	r.ok(again.Release(a))
}

// A stale handle may be described while its slot goes on living elsewhere.
func TestDescribingIsNoRace(t *testing.T) {
	r := newRig(t, 0)
	u := r.user(r.devs[0], "u")
	old, err := New[uint8](u, 1)
	r.ok(err)
	r.ok(old.Release(u))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 200 {
			w := old.x.load()
			if err := old.x.ownership(w, u.o.ID, old.gen); !strings.Contains(err.Error(), "released") {
				t.Error(err)
			}
			_ = old.x.describe(w, w.gen())
		}
	}()
	for n := range 200 {
		b, err := New[float64](u, n)
		r.ok(err)
		r.ok(b.Release(u))
	}
	<-done
}
