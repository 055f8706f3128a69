package proof

import (
	"context"
	"errors"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/transfer"
)

// handOff: a buffer goes to and fro between two streams, and each changes it.
func handOff(sys *actor.System) error {
	there, back := actor.NewChan[buf](1), actor.NewChan[buf](1)
	const rounds = 4
	return two(sys, [2]int{0, 0}, func(s *actor.Stream) error {
		defer there.Close()
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		for range rounds {
			if err := errors.Join(add(s, b, 1), there.Send(s, b)); err != nil {
				return err
			}
			if b, err = back.Recv(s); err != nil {
				return err
			}
		}
		return errors.Join(holds(s, b, 1+rounds*11), b.Release(s))
	}, func(s *actor.Stream) error {
		for b, err := range there.All(s) {
			if err != nil {
				return err
			}
			if err := errors.Join(add(s, b, 10), back.Send(s, b)); err != nil {
				return err
			}
		}
		return nil
	})
}

// oneWay: items are made by one stream and read and released by another, so that memory
// comes back to who made it, over and over.
func oneWay(sys *actor.System) error {
	items := actor.NewChan[buf](2)
	const count = 6
	return two(sys, [2]int{0, 0}, func(s *actor.Stream) error {
		defer items.Close()
		for i := range uint32(count) {
			b, err := filled(s, 100+i)
			if err != nil {
				return err
			}
			if err := items.Send(s, b); err != nil {
				return err
			}
		}
		return nil
	}, func(s *actor.Stream) error {
		i := uint32(100)
		for b, err := range items.All(s) {
			if err != nil {
				return err
			}
			out, err := buffer.New[uint32](s, n)
			if err != nil {
				return err
			}
			if err := errors.Join(duplicate(s, out, b), b.Release(s), holds(s, out, i), out.Release(s)); err != nil {
				return err
			}
			i++
		}
		return nil
	})
}

// dropped: what nobody receives is released, and its memory used again.
func dropped(sys *actor.System) error {
	items := actor.NewChan[buf](4)
	done := actor.NewChan[int](1)
	return two(sys, [2]int{0, 0}, func(s *actor.Stream) error {
		for i := range uint32(4) {
			b, err := filled(s, i)
			if err == nil {
				err = items.Send(s, b)
			}
			if err != nil {
				return err
			}
		}
		return done.Send(s, 1)
	}, func(s *actor.Stream) error {
		if _, err := done.Recv(s); err != nil {
			return err
		}
		items.Discard()
		return reuse(s)
	})
}

// reuse takes more memory than a test has left lying, and uses it.
func reuse(s *actor.Stream) error {
	var bs []buf
	for i := range uint32(6) {
		b, err := filled(s, 200+i)
		if err != nil {
			return err
		}
		bs = append(bs, b)
	}
	for i, b := range bs {
		if err := errors.Join(holds(s, b, uint32(200+i)), b.Release(s)); err != nil {
			return err
		}
	}
	return nil
}

// pulled: a buffer of one device is copied to the other, its source is used again at once
// by its own device, and its destination is memory that a kernel still reads.
func pulled(sys *actor.System) error {
	far := actor.NewChan[buf](2)
	const count = 4
	return two(sys, [2]int{0, 1}, func(s *actor.Stream) error {
		defer far.Close()
		for i := range uint32(count) {
			b, err := filled(s, 300+i)
			if err != nil {
				return err
			}
			if err := far.Send(s, b); err != nil {
				return err
			}
		}
		return reuse(s)
	}, func(s *actor.Stream) error {
		i := uint32(300)
		for b, err := range far.All(s) {
			if err != nil {
				return err
			}
			old, err := filled(s, 5)
			if err != nil {
				return err
			}
			out, err := buffer.New[uint32](s, n)
			if err != nil {
				return err
			}
			if err := errors.Join(duplicate(s, out, old), old.Release(s)); err != nil {
				return err
			}
			got, err := transfer.Pull(s, b)
			if err != nil {
				return err
			}
			if err := errors.Join(add(s, got, 1), holds(s, got, i+1), holds(s, out, 5), got.Release(s), out.Release(s)); err != nil {
				return err
			}
			i++
		}
		return nil
	})
}

// pinned: an upload's source is changed when the CPU may, a download is read when it is there,
// and pinned memory goes from an actor to another one, and to a goroutine.
func pinned(sys *actor.System) error {
	toActor, toHere := actor.NewChan[host](1), actor.NewChan[host](1)
	here := make(chan error, 1)
	go func() {
		here <- func() error {
			for range 2 {
				h, err := toHere.RecvCtx(context.Background())
				if err != nil {
					return err
				}
				words, err := h.SliceCtx(context.Background())
				if err != nil {
					return err
				}
				if err := errors.Join(all(words, 9), h.ReleaseHere()); err != nil {
					return err
				}
			}
			return nil
		}()
	}()
	err := two(sys, [2]int{0, 0}, func(s *actor.Stream) error {
		h, err := buffer.NewHost[uint32](s, n)
		if err != nil {
			return err
		}
		b, err := buffer.New[uint32](s, n)
		if err != nil {
			return err
		}
		for i := range uint32(3) {
			words, err := h.Slice(s)
			if err != nil {
				return err
			}
			for k := range words {
				words[k] = 40 + i
			}
			if err := transfer.Upload(s, b, h); err != nil {
				return err
			}
			if words, err = h.Slice(s); err != nil { // the copy has been made
				return err
			}
			for k := range words {
				words[k] = 0xdead
			}
			if err := errors.Join(add(s, b, 1), holds(s, b, 41+i)); err != nil {
				return err
			}
		}
		if err := errors.Join(fill(s, b, 8), transfer.Download(s, h, b), toActor.Send(s, h)); err != nil {
			return err
		}
		for range 2 { // released by a goroutine with a copy into it on its way, as far as this stream knows
			x, err := buffer.NewHost[uint32](s, n)
			if err != nil {
				return err
			}
			if err := errors.Join(fill(s, b, 9), transfer.Download(s, x, b), toHere.Send(s, x)); err != nil {
				return err
			}
		}
		return b.Release(s)
	}, func(s *actor.Stream) error {
		h, err := toActor.Recv(s)
		if err != nil {
			return err
		}
		b, err := buffer.New[uint32](s, n)
		if err != nil {
			return err
		}
		if err := errors.Join(transfer.Upload(s, b, h), add(s, b, 1), holds(s, b, 9), b.Release(s)); err != nil {
			return err
		}
		words, err := h.Slice(s)
		if err != nil {
			return err
		}
		return errors.Join(all(words, 8), h.Release(s))
	})
	return errors.Join(err, <-here)
}

// unread and unreadHere: pinned memory is released with a copy into it on its way, by an
// actor and by a goroutine, and taken again.
func unread(sys *actor.System) error     { return notRead(sys, true) }
func unreadHere(sys *actor.System) error { return notRead(sys, false) }

func notRead(sys *actor.System, own bool) error {
	toHere := actor.NewChan[host](1)
	here := make(chan error, 1)
	released := actor.NewChan[int](1)
	go func() {
		if own {
			here <- nil
			return
		}
		h, err := toHere.RecvCtx(context.Background())
		if err == nil {
			err = h.ReleaseHere()
		}
		here <- errors.Join(err, released.SendCtx(context.Background(), 1))
	}()
	g := sys.Group(context.Background())
	g.Go("actor", sys.Device(0), func(s *actor.Stream) error {
		b, err := filled(s, 6)
		if err != nil {
			return err
		}
		x, err := buffer.NewHost[uint32](s, n)
		if err != nil {
			return err
		}
		if err := transfer.Download(s, x, b); err != nil {
			return err
		}
		if own {
			err = x.Release(s)
		} else if err = toHere.Send(s, x); err == nil {
			_, err = released.Recv(s)
		}
		if err != nil {
			return err
		}
		for range 2 {
			z, err := buffer.NewHost[uint32](s, n)
			if err != nil {
				return err
			}
			words, err := z.Slice(s)
			if err != nil {
				return err
			}
			for i := range words {
				words[i] = 3
			}
			if err := s.Synchronize(); err != nil {
				return err
			}
			if err := all(words, 3); err != nil {
				return err
			}
			if err := z.Release(s); err != nil {
				return err
			}
		}
		return b.Release(s)
	})
	return errors.Join(g.Wait(), <-here)
}

// synchronised: what an actor reads past the library, when its stream has been
// synchronised, is there.
func synchronised(sys *actor.System) error {
	g := sys.Group(context.Background())
	g.Go("actor", sys.Device(0), func(s *actor.Stream) error {
		b, err := filled(s, 4)
		if err != nil {
			return err
		}
		h, err := buffer.NewHost[uint32](s, n)
		if err != nil {
			return err
		}
		words, err := h.Slice(s)
		if err != nil {
			return err
		}
		if err := errors.Join(transfer.Download(s, h, b), s.Synchronize()); err != nil {
			return err
		}
		return errors.Join(all(words, 4), h.Release(s), b.Release(s))
	})
	return g.Wait()
}

// largeSlices: ordinary memory larger than a chunk goes up and comes down, and is changed as
// soon as it may be.
func largeSlices(sys *actor.System) error {
	const large = 5 << 18 // 5 MiB
	g := sys.Group(context.Background())
	g.Go("actor", sys.Device(0), func(s *actor.Stream) error {
		mem := make([]uint32, large)
		for i := range mem {
			mem[i] = uint32(i)
		}
		b, err := transfer.FromSlice(s, mem)
		if err != nil {
			return err
		}
		clear(mem)
		if err := add(s, b, 1); err != nil {
			return err
		}
		got, err := transfer.ToSlice(s, b)
		if err != nil {
			return err
		}
		for i, w := range got {
			if w != uint32(i)+1 {
				return errors.Join(errBytes, all(got[i:i+1], uint32(i)+1))
			}
		}
		return b.Release(s)
	})
	return g.Wait()
}

// budget: an actor waits for the memory of its own releases, and of another's.
func budget(sys *actor.System) error {
	items := actor.NewChan[buf](1)
	return two(sys, [2]int{0, 0}, func(s *actor.Stream) error {
		defer items.Close()
		for i := range uint32(4) {
			b, err := filled(s, i)
			if err != nil {
				return err
			}
			if err := b.Release(s); err != nil { // not submitted yet
				return err
			}
			c, err := buffer.New[uint32](s, 2*n)
			if err != nil {
				return err
			}
			if err := errors.Join(fill(s, c, 50+i), items.Send(s, c)); err != nil {
				return err
			}
		}
		return nil
	}, func(s *actor.Stream) error {
		i := uint32(50)
		for b, err := range items.All(s) {
			if err != nil {
				return err
			}
			if err := errors.Join(add(s, b, 1), holds(s, b, i+1), b.Release(s)); err != nil {
				return err
			}
			i++
		}
		return nil
	})
}
