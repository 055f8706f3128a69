package transfer

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// pattern is n bytes that differ from their neighbours, from device to device.
func pattern(n, seed int) []uint8 {
	p := make([]uint8, n)
	for i := range p {
		p[i] = uint8(i*7 + i>>8 + seed)
	}
	return p
}

// TestP9_Sizes: nothing, one byte, odd sizes, and around the boundaries of size
// classes: each comes to the other device as it was, and there and back again.
func TestP9_Sizes(t *testing.T) {
	r := newRig(t, sim.Config{})
	a, b := r.hand(0, "a"), r.hand(1, "b")
	for _, n := range []int{0, 1, 2, 3, 7, 511, 512, 513, 4095, 4096, 4097, 65_537, 1<<20 + 1} {
		want := pattern(n, n)
		var x buffer.Buf[uint8]
		a.do(func(s *actor.Stream) (err error) { x, err = FromSlice(s, want); return err })
		for range 2 {
			for _, hop := range [][2]*hand{{a, b}, {b, a}} {
				ch := actor.NewChan[buffer.Buf[uint8]](1)
				hop[0].do(func(s *actor.Stream) error { return ch.Send(s, x) })
				hop[1].do(func(s *actor.Stream) error {
					far, err := ch.Recv(s)
					if err != nil {
						return err
					}
					if x, err = Pull(s, far); err != nil {
						return err
					}
					if far.Valid() || x.Len() != n {
						return fmt.Errorf("%d of %d bytes, the old one is valid: %v", x.Len(), n, far.Valid())
					}
					return nil
				})
			}
		}
		a.do(func(s *actor.Stream) error {
			got, err := ToSlice(s, x)
			if err == nil && string(got) != string(want) {
				err = fmt.Errorf("%d bytes came back changed", n)
			}
			return errors.Join(err, x.Release(s))
		})
	}
}

// TestP9_ElementsOfAllSizes: of a length that is odd in each.
func TestP9_ElementsOfAllSizes(t *testing.T) {
	r := newRig(t, sim.Config{})
	a, b := r.hand(0, "a"), r.hand(1, "b")
	pullOf[int8](a, b, -1)
	pullOf[uint16](a, b, 65535)
	pullOf[int32](a, b, -1<<31)
	pullOf[float32](a, b, 1.25)
	pullOf[uint64](a, b, 1<<63+1)
	pullOf[float64](a, b, -2.5)
}

func pullOf[T buffer.Element](a, b *hand, v T) {
	a.r.Helper()
	const n = 1001
	want := make([]T, n)
	for i := range want {
		want[i] = v
	}
	ch := actor.NewChan[buffer.Buf[T]](1)
	a.do(func(s *actor.Stream) error {
		x, err := FromSlice(s, want)
		if err != nil {
			return err
		}
		return ch.Send(s, x)
	})
	b.do(func(s *actor.Stream) error {
		far, err := ch.Recv(s)
		if err != nil {
			return err
		}
		x, err := Pull(s, far)
		if err != nil {
			return err
		}
		got, err := ToSlice(s, x)
		for i := range got {
			if got[i] != v {
				err = fmt.Errorf("element %d of %T is %v, want %v", i, v, got[i], v)
			}
		}
		return errors.Join(err, x.Release(s))
	})
}

// TestP9_Huge: more than four GiB. Sizes that are cut to 32 bits anywhere would lose
// the end. The simulator's memory takes only what was written.
func TestP9_Huge(t *testing.T) {
	if raceEnabled || testing.Short() || onDriver() {
		t.Skip("needs memory that is not all there")
	}
	const bytes, edge = 5 << 30, 1 << 16
	r := newRig(t, sim.Config{Memory: 16 << 30})
	a, b := r.hand(0, "a"), r.hand(1, "b")
	before := resident(t)
	var x buffer.Buf[uint8]
	// The parts of it that are written: the beginning, both sides of 4 GiB, the end.
	parts := []uint64{0, 4<<30 - edge, 4 << 30, bytes - edge}
	a.do(func(s *actor.Stream) (err error) {
		if x, err = buffer.New[uint8](s, bytes); err != nil {
			return err
		}
		return s.Raw(func(raw actor.RawStream) error {
			l, err := cudart.NewList(0)
			if err != nil {
				return err
			}
			defer l.Close()
			for i, at := range parts {
				l.Fill(x.Block().Ptr()+cudart.DevicePtr(at), uint32(i+1), 1, edge)
			}
			_, err = r.edges.Submit(raw.Context, raw.Stream, l)
			return err
		}, x.InOut())
	})
	ch := actor.NewChan[buffer.Buf[uint8]](1)
	a.do(func(s *actor.Stream) error { return ch.Send(s, x) })
	b.do(func(s *actor.Stream) error {
		far, err := ch.Recv(s)
		if err != nil {
			return err
		}
		if x, err = Pull(s, far); err != nil {
			return err
		}
		o, err := s.Owner()
		if err != nil {
			return err
		}
		h, err := buffer.NewHost[uint8](s, edge)
		if err != nil {
			return err
		}
		for i, at := range parts {
			to, _, err := h.Copying(o, cudart.Out)
			if err != nil {
				return err
			}
			w, gen := h.Written()
			if err := o.Stream.Download(to, x.Block().Ptr()+cudart.DevicePtr(at), edge, w, gen); err != nil {
				return err
			}
			h.Copied(o)
			got, err := h.Slice(s)
			if err != nil {
				return err
			}
			if got[0] != uint8(i+1) || got[edge-1] != uint8(i+1) {
				t.Errorf("at %d: %d … %d, want %d", at, got[0], got[edge-1], i+1)
			}
		}
		return errors.Join(h.Release(s), x.Release(s))
	})
	if grown := resident(t) - before; grown > 512<<20 {
		t.Errorf("%d MiB resident for what was written", grown>>20)
	}
	for _, c := range Counts(r.sys) {
		if c.Route == RoutePeer && c.Bytes != bytes {
			t.Errorf("%+v", c)
		}
	}
}

// resident is the process's resident memory in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("no account of resident memory on %s", runtime.GOOS)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
