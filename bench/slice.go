package bench

import (
	"errors"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/transfer"
)

// moves moves an ordinary slice n times, one after the other, in 10⁹ bytes a second.
// each moves it once, stamped with seed, and returns how long that took.
func moves(bytes, n int, each func(s *actor.Stream, host []uint32, seed uint32) (time.Duration, error)) func(*Rig) (float64, error) {
	return func(r *Rig) (float64, error) {
		h, err := r.hall(setup{})
		if err != nil {
			return 0, err
		}
		n, bytes := n, r.small(bytes)
		if r.Quick {
			n = 2
		}
		host := make([]uint32, bytes/4)
		for i := range host {
			host[i] = 1 // it is there, as a program's own data is
		}
		var took time.Duration
		g, cancel := h.group()
		defer cancel()
		g.Go("copier", h.Device(0), func(s *actor.Stream) error {
			for i := range n + 1 {
				d, err := each(s, host, uint32(i))
				if err != nil {
					return err
				}
				if i > 0 { // the first one finds no pinned memory
					took += d
				}
			}
			return nil
		})
		if err := g.Wait(); err != nil {
			return 0, err
		}
		return float64(bytes*n) / float64(took.Nanoseconds()), nil
	}
}

// fromSlice uploads a slice, until it is there.
func fromSlice(s *actor.Stream, host []uint32, seed uint32) (time.Duration, error) {
	stamp(host, seed)
	began := time.Now()
	b, err := transfer.FromSlice(s, host)
	if err != nil {
		return 0, err
	}
	if err := s.Synchronize(); err != nil {
		return 0, err
	}
	took := time.Since(began)
	return took, errors.Join(checkBlock(s, b, seed), b.Release(s))
}

// toSlice downloads into the slice, or into a new one.
func toSlice(alloc bool) func(*actor.Stream, []uint32, uint32) (time.Duration, error) {
	return func(s *actor.Stream, host []uint32, seed uint32) (time.Duration, error) {
		stamp(host, seed)
		b, err := transfer.FromSlice(s, host)
		if err != nil {
			return 0, err
		}
		if err := s.Synchronize(); err != nil {
			return 0, err
		}
		stamp(host, ^seed) // what is there shall not pass for what comes
		began := time.Now()
		if alloc {
			host, err = transfer.ToSlice(s, b)
		} else {
			err = transfer.CopyToSlice(s, host, b)
		}
		took := time.Since(began)
		if err != nil {
			return 0, err
		}
		return took, errors.Join(checkStamp(host, seed), b.Release(s))
	}
}

// checkBlock compares a block on the device with its stamp.
func checkBlock(s *actor.Stream, b buffer.Buf[uint32], seed uint32) error {
	host, err := buffer.NewHost[uint32](s, b.Len())
	if err != nil {
		return err
	}
	if err := transfer.Download(s, host, b); err != nil {
		return err
	}
	words, err := host.Slice(s)
	if err != nil {
		return err
	}
	return errors.Join(checkStamp(words, seed), host.Release(s))
}

func sliceRounds() []Round {
	return []Round{
		{"upload-slice-64MiB", "go", Gigabytes, moves(64*MiB, 8, fromSlice)},
		{"download-slice-64MiB", "go", Gigabytes, moves(64*MiB, 8, toSlice(false))},
		{"download-slice-64MiB", "go-alloc", Gigabytes, moves(64*MiB, 8, toSlice(true))},
	}
}
