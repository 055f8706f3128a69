package bench

import (
	"fmt"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/device"
	"github.com/gpuactor/gpuactor/transfer"
)

// step: large blocks are stamped and compared by one word of each page, and the last.
const step = 1024

// stamp marks a block of words.
func stamp(words []uint32, seed uint32) {
	for i := 0; i < len(words); i += step {
		words[i] = seed ^ uint32(i)
	}
	words[len(words)-1] = seed ^ uint32(len(words)-1)
}

func checkStamp(words []uint32, seed uint32) error {
	for i := 0; i < len(words); i += step {
		if words[i] != seed^uint32(i) {
			return fmt.Errorf("word %d is %#x, want %#x", i, words[i], seed^uint32(i))
		}
	}
	if last := len(words) - 1; words[last] != seed^uint32(last) {
		return fmt.Errorf("the last word is %#x, want %#x", words[last], seed^uint32(last))
	}
	return nil
}

// way is a direction of copies.
type way int

const (
	up way = iota
	down
	across
)

// bandwidth copies a block n times on one stream, in 10⁹ bytes a second.
func bandwidth(w way, bytes, n int) func(*Rig) (float64, error) {
	return func(r *Rig) (v float64, err error) {
		h, err := r.hall(setup{})
		if err != nil {
			return 0, err
		}
		n, bytes := r.few(n), r.small(bytes)
		if r.Quick && bytes > MiB {
			n = min(n, 2)
		}
		r.seed++
		g, cancel := h.group()
		defer cancel()
		g.Go("copier", h.Device(0), func(s *actor.Stream) error {
			v, err = copies(s, w, bytes, n, r.seed)
			return err
		})
		if err := g.Wait(); err != nil {
			return 0, err
		}
		return v, nil
	}
}

func copies(s *actor.Stream, w way, bytes, n int, seed uint32) (float64, error) {
	host, err := buffer.NewHost[uint32](s, bytes/4)
	if err != nil {
		return 0, err
	}
	near, err := buffer.New[uint32](s, bytes/4)
	if err != nil {
		return 0, err
	}
	to := near
	if w == across {
		if to, err = buffer.New[uint32](s, bytes/4); err != nil {
			return 0, err
		}
	}
	mark := func(seed uint32) error {
		words, err := host.Slice(s)
		if err == nil {
			stamp(words, seed)
		}
		return err
	}
	// What is not measured: the block to the device, and what came of it back.
	if err := mark(seed); err != nil {
		return 0, err
	}
	if err := transfer.Upload(s, near, host); err != nil {
		return 0, err
	}
	if err := s.Synchronize(); err != nil {
		return 0, err
	}
	// What was copied above shall not pass for what is copied now.
	if err := mark(^seed); err != nil {
		return 0, err
	}
	if w == up {
		seed = ^seed
	}
	began := time.Now()
	for range n {
		switch w {
		case up:
			err = transfer.Upload(s, near, host)
		case down:
			err = transfer.Download(s, host, near)
		case across:
			err = transfer.Copy(s, to, near)
		}
		if err != nil {
			return 0, err
		}
	}
	if err := s.Synchronize(); err != nil {
		return 0, err
	}
	took := time.Since(began)
	if w != down {
		if err := mark(^seed); err != nil {
			return 0, err
		}
		if err := transfer.Download(s, host, to); err != nil {
			return 0, err
		}
	}
	words, err := host.Slice(s)
	if err != nil {
		return 0, err
	}
	if err := checkStamp(words, seed); err != nil {
		return 0, err
	}
	if w == across {
		if err := to.Release(s); err != nil {
			return 0, err
		}
	}
	if err := near.Release(s); err != nil {
		return 0, err
	}
	return float64(bytes*n) / float64(took.Nanoseconds()), host.Release(s)
}

// pullBatch is how many buffers are pulled between two waits.
const pullBatch = 32

// pull is the CPU's time for bringing 4 KiB from another device, by its edges and
// the copy, until the driver has all of it. Two contexts on one GPU stand in for
// two GPUs. via, where it is set, starts the actor on whose stream the copies are.
func pull(policy actor.Policy, n int, via func(h *hall, g *actor.Group, done <-chan struct{}) *actor.Ref) func(*Rig) (float64, error) {
	return func(r *Rig) (float64, error) {
		h, err := r.hall(setup{policy: policy, virtual: 2})
		if err != nil {
			return 0, err
		}
		batches := max(r.few(n)/pullBatch, 2)
		var took time.Duration
		items := actor.NewChan[buffer.Buf[uint32]](pullBatch)
		more := actor.NewChan[int](1)
		g, cancel := h.group()
		defer cancel()
		var opts []transfer.Option
		done := make(chan struct{})
		if via != nil {
			if ref := via(h, g, done); ref != nil {
				opts = append(opts, transfer.Via(ref))
			}
		}
		g.Go("producer", h.Device(0), func(s *actor.Stream) error {
			for k, err := range more.All(s) {
				if err != nil {
					return err
				}
				for i := range pullBatch {
					b, err := buffer.New[uint32](s, itemLen)
					if err != nil {
						return err
					}
					if err := s.Launch(fill32, device.Linear(itemLen), b.Out(), device.U32(uint32(k+i)), device.U32(itemLen)); err != nil {
						return err
					}
					if err := items.Send(s, b); err != nil {
						return err
					}
				}
			}
			return nil
		})
		g.Go("consumer", h.Device(1), func(s *actor.Stream) error {
			defer close(done)
			defer more.Close()
			for k := range batches + 1 { // the first one makes what the others reuse
				d, err := pullSome(s, k, more, items, opts, k == batches)
				if err != nil {
					return err
				}
				if k > 0 {
					took += d
				}
			}
			return nil
		})
		if err := g.Wait(); err != nil {
			return 0, err
		}
		return float64(took.Nanoseconds()) / float64(batches*pullBatch), nil
	}
}

// pullSome pulls a batch; only the pulls are measured.
func pullSome(s *actor.Stream, k int, more *actor.Chan[int], items *actor.Chan[buffer.Buf[uint32]], opts []transfer.Option, check bool) (time.Duration, error) {
	if err := more.Send(s, k); err != nil {
		return 0, err
	}
	var far, near [pullBatch]buffer.Buf[uint32]
	for i := range far {
		var err error
		if far[i], err = items.Recv(s); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	for i := range far {
		var err error
		if near[i], err = transfer.Pull(s, far[i], opts...); err != nil {
			return 0, err
		}
		if err := s.Submit(); err != nil {
			return 0, err
		}
	}
	took := time.Since(began)
	for i, b := range near {
		if check {
			if err := checkWords(s, b, uint32(k+i)); err != nil {
				return 0, err
			}
		}
		if err := b.Release(s); err != nil {
			return 0, err
		}
	}
	return took, s.Synchronize()
}

// waiting is an actor of the source's device that waits in a channel: parked, or
// spinning where the policy has it spin.
func waiting(h *hall, g *actor.Group, done <-chan struct{}) *actor.Ref {
	never := actor.NewChan[int](1)
	go func() {
		select {
		case <-done:
		case <-g.Context().Done():
		}
		never.Close()
	}()
	return g.Go("source", h.Device(0), func(s *actor.Stream) error {
		for _, err := range never.All(s) {
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func copyRounds() []Round {
	all := []Round{
		{"pull", "go-idle", Nanoseconds, pull(actor.Balanced, 1600, nil)},
		{"pull", "go-parked", Nanoseconds, pull(actor.Frugal, 1600, waiting)},
		{"pull", "go-spinning", Nanoseconds, pull(actor.Latency, 1600, waiting)},
	}
	for _, c := range []struct {
		size            string
		bytes, n, local int
	}{
		{"4KiB", 4 * KiB, 10000, 10000}, {"64KiB", 64 * KiB, 10000, 10000}, {"1MiB", MiB, 2000, 10000},
		{"16MiB", 16 * MiB, 128, 2000}, {"256MiB", 256 * MiB, 8, 128}, {"1GiB", 1024 * MiB, 3, 32},
	} {
		all = append(all,
			Round{"upload-" + c.size, "go", Gigabytes, bandwidth(up, c.bytes, c.n)},
			Round{"download-" + c.size, "go", Gigabytes, bandwidth(down, c.bytes, c.n)},
			Round{"d2d-" + c.size, "go", Gigabytes, bandwidth(across, c.bytes, c.local)})
	}
	return all
}
