package transfer

import (
	"errors"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// TestM3_ASliceThatIsChangedAtOnce: an ordinary slice is staged: the device has the
// old values, and nothing has waited for the device.
func TestM3_ASliceThatIsChangedAtOnce(t *testing.T) {
	r := newRig(t, sim.Config{})
	a, g := r.hand(0, "a"), r.gate()
	g.hold(a)
	slice := make([]uint32, 1000)
	bufs := make([]Buf, 5)
	for i := range bufs {
		a.do(func(s *actor.Stream) (err error) {
			for k := range slice {
				slice[k] = uint32(i)
			}
			bufs[i], err = FromSlice(s, slice)
			for k := range slice {
				slice[k] = 99
			}
			return err
		})
	}
	if g.late() {
		t.Error("something waited for the device")
	}
	g.open()
	for i, b := range bufs {
		r.ok(a.holds(b, uint32(i)))
	}
}

// TestM4_ADownloadIsReadWhenItIsThere: never before.
func TestM4_ADownloadIsReadWhenItIsThere(t *testing.T) {
	r := newRig(t, sim.Config{})
	a, g := r.hand(0, "a"), r.gate()
	b := a.filled(1)
	a.sync()
	g.hold(a)
	a.do(func(s *actor.Stream) error { return fill(s, b, 7) })
	started := make(chan struct{})
	var got []uint32
	read := a.start(func(s *actor.Stream) (err error) {
		close(started)
		got, err = ToSlice(s, b)
		return err
	})
	<-started
	select {
	case err := <-read:
		t.Fatalf("read %d with the gate closed (%v)", got[0], err)
	default:
	}
	g.open()
	r.ok(<-read)
	if got[0] != 7 || got[words-1] != 7 {
		t.Errorf("read %d … %d", got[0], got[words-1])
	}
}

// Sizes that do not fit are refused; part of a destination may be written, and the
// rest of it stays.
func TestSizesOfCopies(t *testing.T) {
	r := newRig(t, sim.Config{})
	a := r.hand(0, "a")
	a.do(func(s *actor.Stream) error {
		small, err := FromSlice(s, []uint32{1, 2, 3})
		if err != nil {
			return err
		}
		large, err := FromSlice(s, []uint32{4, 5, 6, 7})
		if err != nil {
			return err
		}
		smallHost, err := buffer.NewHost[uint32](s, 3)
		if err != nil {
			return err
		}
		largeHost, err := buffer.NewHost[uint32](s, 4)
		if err != nil {
			return err
		}
		for name, err := range map[string]error{
			"upload":   Upload(s, large, smallHost),
			"download": Download(s, smallHost, large),
			"copy":     Copy(s, small, large),
		} {
			if !errors.Is(err, ErrLength) || !strings.Contains(err.Error(), "lengths differ: ") {
				t.Errorf("%s of what does not fit: %v", name, err)
			}
		}
		slab, err := largeHost.Slice(s)
		if err != nil {
			return err
		}
		copy(slab, []uint32{10, 11, 12, 13})
		if err := Upload(s, small, largeHost); err != nil { // all of small
			return err
		}
		if err := Copy(s, large, small); err != nil { // a part of large
			return err
		}
		if err := Download(s, largeHost, small); err != nil { // a part of it
			return err
		}
		if slab, err = largeHost.Slice(s); err != nil {
			return err
		}
		got, err := ToSlice(s, large)
		if err != nil {
			return err
		}
		for i, want := range []uint32{10, 11, 12, 7} {
			if got[i] != want || i < 3 && slab[i] != want || i == 3 && slab[i] != 13 {
				t.Errorf("element %d: %d on the device, %d here, want %d", i, got[i], slab[i], want)
			}
		}
		return errors.Join(small.Release(s), large.Release(s), smallHost.Release(s), largeHost.Release(s))
	})
}

// What is not the caller's, or nobody's, is refused by each; nothing is issued.
func TestCopiesOfWhatIsNotOurs(t *testing.T) {
	r := newRig(t, sim.Config{})
	a, b := r.hand(0, "a"), r.hand(1, "b")
	theirs, far := b.filled(1), b.filled(2)
	b.send(a, far)
	a.do(func(s *actor.Stream) error {
		h, err := buffer.NewHost[uint32](s, words)
		if err != nil {
			return err
		}
		mine, err := buffer.New[uint32](s, words)
		if err != nil {
			return err
		}
		for name, x := range map[string]Buf{"somebody else's": theirs, "foreign": far, "zero": {}} {
			_, slice := ToSlice(s, x)
			for op, err := range map[string]error{
				"upload": Upload(s, x, h), "download": Download(s, h, x), "copy from": Copy(s, mine, x),
				"copy to": Copy(s, x, mine), "to slice": slice,
			} {
				var e *buffer.OwnershipError
				if !errors.As(err, &e) || e.Asker != "a" {
					t.Errorf("%s, %s: %v", name, op, err)
				}
			}
		}
		return errors.Join(h.Release(s), mine.Release(s))
	})
}

// A copy into a poisoned buffer that was not issued leaves it poisoned; one that is
// ends it, where it overwrites all.
func TestCopiesIntoPoisonedBuffers(t *testing.T) {
	r := newRig(t, sim.Config{})
	a := r.hand(0, "a")
	b, full := a.filled(1), a.filled(5)
	a.sync()
	r.edges.refuseAll(true)
	if err := a.try(func(s *actor.Stream) error { return errors.Join(fill(s, b, 2), s.Submit()) }); err == nil {
		t.Fatal("nothing was refused")
	}
	r.edges.refuseAll(false)
	a.do(func(s *actor.Stream) error {
		part, err := FromSlice(s, []uint32{1})
		if err != nil {
			return err
		}
		var poison *buffer.PoisonError
		if err := Copy(s, b, part); !errors.As(err, &poison) {
			t.Errorf("in part: %v", err)
		}
		if err := Upload(s, b, buffer.Host[uint32]{}); err == nil || b.State() != buffer.Poisoned {
			t.Errorf("from nothing: %v, and the buffer is %v", err, b.State())
		}
		if err := Copy(s, b, full); err != nil || b.State() != buffer.Exclusive {
			t.Errorf("in full: %v, and the buffer is %v", err, b.State())
		}
		return part.Release(s)
	})
	r.ok(a.holds(b, 5))
}

func TestEmptySlices(t *testing.T) {
	r := newRig(t, sim.Config{})
	a := r.hand(0, "a")
	a.do(func(s *actor.Stream) error {
		b, err := FromSlice[uint32](s, nil)
		if err != nil {
			return err
		}
		got, err := ToSlice(s, b)
		if len(got) != 0 || b.Len() != 0 {
			t.Errorf("%v of %d elements", got, b.Len())
		}
		return errors.Join(err, Copy(s, b, b), b.Release(s))
	})
}

// A FromSlice that fails leaves nothing behind.
func TestFromSliceRefused(t *testing.T) {
	r := newRig(t, sim.Config{}, actor.WithBudget(4096))
	a := r.hand(0, "a")
	live := buffer.Live()
	err := a.try(func(s *actor.Stream) error { _, err := FromSlice(s, make([]uint32, 2000)); return err })
	if !errors.Is(err, cudart.ErrOutOfMemory) || buffer.Live() != live {
		t.Errorf("%v, %d buffers live, there were %d", err, buffer.Live(), live)
	}
	r.edges.mu.Lock()
	r.edges.refuse = func(c cudart.Command) bool { return c.Op == cudart.OpCopyHtoD }
	r.edges.mu.Unlock()
	err = a.try(func(s *actor.Stream) error {
		_, err := FromSlice(s, make([]uint32, 10))
		return errors.Join(err, s.Submit())
	})
	r.edges.refuseAll(false)
	if err == nil {
		t.Error("nothing was refused")
	}
}
