package transfer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// staged sets how the test's slices are staged, with processors for helpers. It
// comes before the rig, so that it is undone after the rig is closed.
func staged(t testing.TB, s staging) {
	old, procs := stage, runtime.GOMAXPROCS(16)
	stage = s
	t.Cleanup(func() {
		stage = old
		runtime.GOMAXPROCS(procs)
	})
}

const page = 4096

// Slices of many chunks come to the device and back as they were, whatever the
// chunks and however many copy; a part of a slice is written where the buffer is
// shorter, and no more of it.
func TestSlicesInChunks(t *testing.T) {
	for _, helpers := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(helpers), func(t *testing.T) {
			staged(t, staging{chunk: page, helpers: helpers, pinned: 1 << 20})
			r := newRig(t, sim.Config{})
			a := r.hand(0, "a")
			for _, n := range []int{page - 1, page, page + 1, 2 * page, 2*page + 1, 10*page - 1, 100*page + 13} {
				roundTrip(a, pattern(n, n))
				roundTrip(a, slices.Repeat([]float64{1.5, -2, float64(n)}, n/24+1))
			}
		})
	}
}

// A chunk is uploaded when it has been copied, and its slab is used again then, and not
// when somebody has begun to copy it.
func TestSlicesWithSlowHelpers(t *testing.T) {
	slow := func() {
		for range 100 {
			runtime.Gosched()
		}
	}
	staged(t, staging{chunk: page, helpers: 3, pinned: 1 << 20, pause: slow})
	r := newRig(t, sim.Config{})
	a := r.hand(0, "a")
	for i := range 10 {
		roundTrip(a, pattern(50*page, i))
	}
}

func roundTrip[T buffer.Element](a *hand, want []T) {
	a.r.Helper()
	a.do(func(s *actor.Stream) error {
		b, err := FromSlice(s, want)
		if err != nil {
			return err
		}
		got, err := ToSlice(s, b)
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("%d of %T came back changed", len(want), want)
		}
		long := make([]T, len(want)+1)
		long[len(want)] = 7
		err = errors.Join(err, CopyToSlice(s, long, b))
		if err == nil && (!slices.Equal(long[:len(want)], want) || long[len(want)] != 7) {
			err = fmt.Errorf("%d of %T came back changed into memory that was there, or too many", len(want), want)
		}
		if e := CopyToSlice(s, long[:len(want)-1], b); !errors.Is(e, ErrLength) {
			err = errors.Join(err, fmt.Errorf("into a slice that is too short: %w", e))
		}
		return errors.Join(err, b.Release(s))
	})
}

// TestM3_ALargeSliceThatIsChangedAtOnce: in many chunks too, the device has the old
// values, and nothing has waited for it.
func TestM3_ALargeSliceThatIsChangedAtOnce(t *testing.T) {
	staged(t, staging{chunk: page, helpers: 2, pinned: 1 << 20})
	r := newRig(t, sim.Config{})
	a, g := r.hand(0, "a"), r.gate()
	g.hold(a)
	slice := make([]uint32, 1<<20/4)
	var bufs [3]Buf
	for i := range bufs {
		a.do(func(s *actor.Stream) (err error) {
			for k := range slice {
				slice[k] = uint32(i)
			}
			bufs[i], err = FromSlice(s, slice)
			clear(slice)
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

// An upload behind work that does not end takes pinned memory up to its bound, and
// then waits; a wait that is given up leaves nothing behind.
func TestPinnedMemoryOfAnUploadIsBounded(t *testing.T) {
	const slabs = 5
	staged(t, staging{chunk: page, helpers: 1, pinned: slabs * page})
	r := newRig(t, sim.Config{})
	a, g := r.hand(0, "a"), r.gate()
	g.hold(a)
	before := r.sys.Device(0).HostBytes()
	want := pattern(20*page+1, 3)
	var b buffer.Buf[uint8]
	sent := a.start(func(s *actor.Stream) (err error) {
		b, err = FromSlice(s, want)
		return err
	})
	for r.sys.Device(0).HostBytes() < before+slabs*page && !g.late() {
		runtime.Gosched()
	}
	select {
	case err := <-sent:
		t.Fatalf("it did not wait (%v)", err)
	default:
	}
	g.open()
	r.ok(<-sent)
	if taken := r.sys.Device(0).HostBytes() - before; taken != slabs*page {
		t.Errorf("%d bytes of pinned memory, want %d", taken, slabs*page)
	}
	a.do(func(s *actor.Stream) error {
		got, err := ToSlice(s, b)
		if err == nil && !slices.Equal(got, want) {
			err = errors.New("it came back changed")
		}
		return errors.Join(err, b.Release(s))
	})

	live := buffer.Live()
	later := r.gate()
	later.hold(a)
	sent = a.start(func(s *actor.Stream) error {
		_, err := FromSlice(s, want)
		return err
	})
	a.ref.Stop()
	if err := <-sent; !errors.Is(err, actor.ErrStopped) && !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was given up: %v", err)
	}
	later.open()
	if n := buffer.Live(); n != live {
		t.Errorf("%d buffers are live, there were %d", n, live)
	}
}

// A chunk in the middle that the driver refuses fails the call, and leaves nothing.
func TestAChunkIsRefused(t *testing.T) {
	staged(t, staging{chunk: page, helpers: 2, pinned: 1 << 20})
	r := newRig(t, sim.Config{})
	a := r.hand(0, "a")
	var b buffer.Buf[uint8]
	a.do(func(s *actor.Stream) (err error) { b, err = FromSlice(s, pattern(50*page, 1)); return err })
	live := buffer.Live()
	for name, call := range map[string]struct {
		op cudart.Op
		f  func(s *actor.Stream) error
	}{
		"up":   {cudart.OpCopyHtoD, func(s *actor.Stream) error { _, err := FromSlice(s, make([]uint8, 50*page)); return err }},
		"down": {cudart.OpCopyDtoH, func(s *actor.Stream) error { return CopyToSlice(s, make([]uint8, 50*page), b) }},
	} {
		count := 0
		r.edges.mu.Lock()
		r.edges.refuse = func(c cudart.Command) bool {
			if c.Op == call.op {
				count++
			}
			return c.Op == call.op && count >= 20
		}
		r.edges.mu.Unlock()
		if err := a.try(call.f); !errors.Is(err, errRefused) {
			t.Errorf("%s: %v", name, err)
		}
		r.edges.refuseAll(false)
		if count != 20 {
			t.Errorf("%s: %d chunks were issued, the 20th was refused", name, count)
		}
		if n := buffer.Live(); n != live {
			t.Errorf("%s: %d buffers are live, there were %d", name, n, live)
		}
	}
	a.do(func(s *actor.Stream) error {
		got, err := ToSlice(s, b)
		if err == nil && !slices.Equal(got, pattern(50*page, 1)) {
			err = errors.New("the buffer has changed")
		}
		return errors.Join(err, b.Release(s))
	})
}

// A chunk is not all of a buffer: it does not end the buffer's poison.
func TestAChunkIntoAPoisonedBuffer(t *testing.T) {
	r := newRig(t, sim.Config{})
	a := r.hand(0, "a")
	b := a.filled(1)
	a.sync()
	r.edges.refuseAll(true)
	if err := a.try(func(s *actor.Stream) error { return errors.Join(fill(s, b, 2), s.Submit()) }); err == nil {
		t.Fatal("nothing was refused")
	}
	r.edges.refuseAll(false)
	a.do(func(s *actor.Stream) error {
		o, err := s.Owner()
		if err != nil {
			return err
		}
		h, err := buffer.NewHost[uint32](s, words)
		if err != nil {
			return err
		}
		var poison *buffer.PoisonError
		if err := uploadAt(s, o, b, 0, words/2, h); !errors.As(err, &poison) || b.State() != buffer.Poisoned {
			t.Errorf("in part: %v, and the buffer is %v", err, b.State())
		}
		return errors.Join(uploadAt(s, o, b, 0, words, h), h.Release(s), b.Release(s))
	})
}

// BenchmarkSlices are slices of 64 MiB, up and down, for the choice of stage.
func BenchmarkSlices(b *testing.B) {
	const bytes = 64 << 20
	host := make([]uint32, bytes/4)
	for i := range host {
		host[i] = uint32(i)
	}
	for _, chunk := range []int{256 << 10, 512 << 10, 1 << 20, 2 << 20} {
		for _, helpers := range []int{0, 1, 2, 3} {
			if helpersFor(helpers) < int32(helpers) {
				continue
			}
			old := stage
			stage = staging{chunk: chunk, helpers: helpers, pinned: old.pinned}
			name := fmt.Sprintf("%dKiB/helpers=%d", chunk>>10, helpers)
			run := func(way string, f func(s *actor.Stream, x Buf) error) {
				b.Run(way+"/"+name, func(b *testing.B) {
					a := newRig(b, sim.Config{}).hand(0, "a")
					b.SetBytes(bytes)
					a.do(func(s *actor.Stream) error {
						x, err := FromSlice(s, host)
						for b.Loop() {
							err = errors.Join(err, f(s, x))
						}
						return errors.Join(err, x.Release(s))
					})
				})
			}
			run("up", func(s *actor.Stream, _ Buf) error {
				x, err := FromSlice(s, host)
				return errors.Join(err, s.Synchronize(), x.Release(s))
			})
			run("down", func(s *actor.Stream, x Buf) error { return CopyToSlice(s, host, x) })
			run("down-new", func(s *actor.Stream, x Buf) error { _, err := ToSlice(s, x); return err })
			stage = old
		}
	}
}
