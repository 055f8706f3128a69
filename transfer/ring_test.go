package transfer

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart/sim"
	"github.com/gpuactor/gpuactor/device"
)

var add32 = module.Kernel("add32", device.InOut[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())

// TestP9_Chain: a buffer goes through all devices and back to the first, and each
// adds to it on the way.
func TestP9_Chain(t *testing.T) {
	for _, devices := range []int{2, 3, 4} {
		t.Run(fmt.Sprint(devices, " devices"), func(t *testing.T) {
			r := newRig(t, sim.Config{Devices: devices})
			hands := make([]*hand, devices)
			for i := range hands {
				hands[i] = r.hand(i, fmt.Sprint("hand ", i))
			}
			b := hands[0].filled(0)
			hops := 3 * devices
			for i := range hops {
				from, to := hands[i%devices], hands[(i+1)%devices]
				from.send(to, b)
				b = to.pull(b)
				to.do(func(s *actor.Stream) error {
					return s.Launch(add32, device.Linear(words), b.InOut(), device.U32(1), device.U32(words))
				})
			}
			r.ok(hands[hops%devices].holds(b, uint32(hops)))
		})
	}
}

// A foreign buffer that is sent on keeps its giver's point: whoever pulls it at last
// waits for the one who wrote it, and for nobody in between.
func TestAForeignBufferIsSentOn(t *testing.T) {
	r := newRig(t, sim.Config{Devices: 3})
	src, between, dst := r.hand(0, "source"), r.hand(1, "between"), r.hand(2, "destination")
	b := src.filled(1)
	src.sync()
	g, other := r.gate(), r.gate()
	g.hold(src)
	src.do(func(s *actor.Stream) error { return fill(s, b, 7) })
	src.send(between, b)
	other.hold(between)
	between.send(dst, b)
	if b.State() != buffer.Foreign {
		t.Errorf("the buffer is %v", b.State())
	}
	got := dst.pull(b)
	g.open()
	r.ok(dst.holds(got, 7))
	if other.late() {
		t.Error("the one in between was waited for")
	}
}

// And where it comes home, it is simply its new owner's again.
func TestAForeignBufferComesHome(t *testing.T) {
	r := newRig(t, sim.Config{})
	src, far, home := r.hand(0, "source"), r.hand(1, "far"), r.hand(0, "home")
	b := src.filled(7)
	src.send(far, b)
	far.send(home, b)
	if got := home.pull(b); got != b {
		t.Error("it was copied")
	}
	r.copied()
	r.ok(home.holds(b, 7))
}

// TestP5_BothWaysAndInARing: every device pulls from its neighbour and gives to the
// other at once, for many rounds: no deadlock, and every byte is right.
func TestP5_BothWaysAndInARing(t *testing.T) {
	for _, devices := range []int{2, 4} {
		t.Run(fmt.Sprint(devices, " devices"), func(t *testing.T) {
			r := newRig(t, sim.Config{Devices: devices})
			const n, rounds, flight = 4096, 100, 3
			ring := make([]*actor.Chan[Buf], devices)
			for i := range ring {
				ring[i] = actor.NewChan[Buf](flight + 1)
			}
			g := r.sys.Group(r.ctx)
			for i := range devices {
				g.Go(fmt.Sprint("node ", i), r.sys.Device(i), func(s *actor.Stream) error {
					to := ring[(i+1)%devices]
					for k := range flight {
						b, err := buffer.New[uint32](s, n)
						if err != nil {
							return err
						}
						if err := errors.Join(fill(s, b, uint32(1000*i+100_000*k)), to.Send(s, b)); err != nil {
							return err
						}
					}
					for round := range rounds * flight {
						far, err := ring[i].Recv(s)
						if err != nil {
							return err
						}
						b, err := Pull(s, far)
						if err != nil {
							return err
						}
						if err := s.Launch(add32, device.Linear(n), b.InOut(), device.U32(1), device.U32(n)); err != nil {
							return err
						}
						if round < (rounds-1)*flight {
							if err := to.Send(s, b); err != nil {
								return err
							}
							continue
						}
						// Where the values of one round end up after all of them.
						k, from := round%flight, (i-rounds%devices+devices)%devices
						got, err := ToSlice(s, b)
						if err != nil {
							return err
						}
						for _, v := range got {
							if want := uint32(1000*from + 100_000*k + rounds); v != want {
								return fmt.Errorf("node %d, value %d: %d, want %d", i, k, v, want)
							}
						}
						if err := b.Release(s); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if err := g.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
