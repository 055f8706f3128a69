package buffer

import (
	"errors"
	"math"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

func checkFill[T Element](r *rig, u *user, n int, values ...T) {
	r.Helper()
	b, err := New[T](u, n)
	r.ok(err)
	for _, v := range values {
		r.ok(b.Fill(u, v))
		for i, got := range read(u, b) {
			if got != v {
				r.Errorf("%T: element %d of %d is %v, want %v", v, i, n, got, v)
				break
			}
		}
	}
	r.ok(b.Release(u))
}

type celsius float32

func TestFill(t *testing.T) {
	r := newRig(t, 0)
	u := r.user(r.devs[0], "u")
	for _, n := range []int{1, 7, 1000} {
		checkFill[uint8](r, u, n, 0, 1, 255)
		checkFill[int8](r, u, n, -1, 127, -128)
		checkFill[uint16](r, u, n, 0, 0x1234, 65535)
		checkFill[int16](r, u, n, -2, 32767)
		checkFill[uint32](r, u, n, 0, 0x12345678, 1<<32-1)
		checkFill[int32](r, u, n, -3, 1<<31-1)
		checkFill[float32](r, u, n, 0, 1.5, -0.1)
		checkFill[celsius](r, u, n, 36.6)
		checkFill[uint64](r, u, n, 0)
		checkFill[int64](r, u, n, 0)
		checkFill[float64](r, u, n, 0)
	}
	none, err := New[float32](u, 0)
	r.ok(err)
	r.ok(none.Fill(u, 1))
	wide, err := New[float64](u, 4)
	r.ok(err)
	if err := wide.Fill(u, 1.5); !errors.Is(err, cudart.ErrNotSupported) {
		t.Errorf("eight bytes that are not zero: %v", err)
	}
	if err := wide.Fill(u, math.Copysign(0, -1)); !errors.Is(err, cudart.ErrNotSupported) {
		t.Errorf("minus zero: %v", err)
	}
	if u.o.Stream.Pending() != 0 {
		t.Error("something was issued")
	}
}

func TestFillPattern(t *testing.T) {
	for _, c := range []struct {
		got     func() (uint32, int, error)
		pattern uint32
		width   int
	}{
		{func() (uint32, int, error) { return fillPattern(uint8(0xab)) }, 0xab, 1},
		{func() (uint32, int, error) { return fillPattern(int8(-1)) }, 0xff, 1},
		{func() (uint32, int, error) { return fillPattern(uint16(0xabcd)) }, 0xabcd, 2},
		{func() (uint32, int, error) { return fillPattern(int32(-2)) }, 0xfffffffe, 4},
		{func() (uint32, int, error) { return fillPattern(float32(1)) }, 0x3f800000, 4},
		{func() (uint32, int, error) { return fillPattern(float64(0)) }, 0, 4},
	} {
		if p, w, err := c.got(); p != c.pattern || w != c.width || err != nil {
			t.Errorf("%#x of %d bytes (%v), want %#x of %d", p, w, err, c.pattern, c.width)
		}
	}
}
