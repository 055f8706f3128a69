package proof

import (
	"context"
	"errors"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
	"github.com/gpuactor/gpuactor/device"
	"github.com/gpuactor/gpuactor/transfer"
)

type ownership = *buffer.OwnershipError

// notMine tries everything with a buffer that s does not own.
func notMine(s *actor.Stream, b buf, what string) error {
	other, err := filled(s, 1)
	if err != nil {
		return err
	}
	ch := actor.NewChan[buf](1)
	_, pulled := transfer.Pull(s, b)
	return errors.Join(
		refused[ownership](fill(s, b, 1), what+" launched on"),
		refused[ownership](duplicate(s, other, b), what+" read"),
		refused[ownership](ch.Send(s, b), what+" sent"),
		refused[ownership](b.Release(s), what+" released"),
		refused[ownership](b.Fill(s, 0), what+" filled"),
		refused[ownership](pulled, what+" pulled"),
		refused[ownership](s.Send(s.Ref().PID(), b), what+" in a message"),
		other.Release(s),
	)
}

// owned: whatever one does not own is refused.
func owned(sys *actor.System) error {
	lent, kept, tried := actor.NewChan[buf](1), actor.NewChan[int](1), actor.NewChan[int](1)
	var stolen buf
	return two(sys, [2]int{0, 1}, func(s *actor.Stream) error {
		var zero buf
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		stolen = b
		if err := kept.Send(s, 1); err != nil {
			return err
		}
		if _, err := tried.Recv(s); err != nil { // the other one has tried
			return err
		}
		if err := errors.Join(
			refused[ownership](zero.Release(s), "no buffer released"),
			refused[ownership](fill(s, zero, 1), "no buffer launched on"),
			refused[ownership](zero.Fill(s, 1), "no buffer filled"),
			lent.Send(s, b),
			notMine(s, b, "what was sent"),
		); err != nil {
			return err
		}
		c, err := filled(s, 1)
		if err != nil {
			return err
		}
		return errors.Join(c.Release(s), notMine(s, c, "what was released"))
	}, func(s *actor.Stream) error {
		if _, err := kept.Recv(s); err != nil {
			return err
		}
		if err := errors.Join(notMine(s, stolen, "another's"), tried.Send(s, 1)); err != nil {
			return err
		}
		far, err := lent.Recv(s)
		if err != nil {
			return err
		}
		if err := errors.Join(refused[ownership](fill(s, far, 1), "a foreign one launched on"), far.Release(s)); err != nil {
			return err
		}
		_, pulled := transfer.Pull(s, buf{})
		return refused[ownership](pulled, "no buffer pulled")
	})
}

// pinnedOwned: the same for pinned memory, which goroutines own too.
func pinnedOwned(sys *actor.System) error {
	toHere, back := actor.NewChan[host](1), actor.NewChan[host](1)
	device0, tried := actor.NewChan[buf](1), actor.NewChan[int](1)
	here := make(chan error, 1)
	go func() {
		here <- func() error {
			ctx := context.Background()
			h, err := toHere.RecvCtx(ctx)
			if err != nil {
				return err
			}
			if err := back.SendCtx(ctx, h); err != nil {
				return err
			}
			_, slice := h.SliceCtx(ctx)
			var zero host
			_, none := zero.SliceCtx(ctx)
			own, err := buffer.HostOn[uint32](sys.Device(0), n)
			if err != nil {
				return err
			}
			_, err = device0.RecvCtx(ctx)
			_ = tried.SendCtx(ctx, 1)
			if !errors.Is(err, buffer.ErrNoStream) {
				err = errors.Join(errNotRefused, err)
			} else {
				err = nil
			}
			return errors.Join(err,
				refused[ownership](back.SendCtx(ctx, h), "what a goroutine sent, sent again"),
				refused[ownership](h.ReleaseHere(), "what a goroutine sent, released"),
				refused[ownership](slice, "what a goroutine sent, read"),
				refused[ownership](none, "no memory read"),
				refused[ownership](zero.ReleaseHere(), "no memory released"),
				own.ReleaseHere(),
				refused[ownership](own.ReleaseHere(), "released twice"),
			)
		}()
	}()
	g := sys.Group(context.Background())
	g.Go("actor", sys.Device(0), func(s *actor.Stream) error {
		h, err := buffer.NewHost[uint32](s, n)
		if err != nil {
			return err
		}
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		if err := errors.Join(transfer.Download(s, h, b), toHere.Send(s, h), refused[ownership](transfer.Upload(s, b, h), "an upload from what was sent")); err != nil {
			return err
		}
		if _, err := h.Slice(s); refused[ownership](err, "read when sent") != nil {
			return refused[ownership](err, "read when sent")
		}
		if err := device0.Send(s, b); err != nil {
			return err
		}
		h, err = back.Recv(s)
		if err != nil {
			return err
		}
		if _, err := tried.Recv(s); err != nil {
			return err
		}
		device0.Discard()
		return h.Release(s)
	})
	return errors.Join(g.Wait(), <-here)
}

// messages: buffers in messages are handed over like those in channels, and what is not
// the sender's is refused; pinned memory comes from goroutines.
func messages(sys *actor.System) error {
	type item struct {
		Data buf
		Want uint32
	}
	type letter struct{ Mem host }
	results := actor.NewChan[string](8)
	stock := sys.Root().Spawn(actor.PropsFromFunc(func(actor.Context) {}))
	defer sys.Root().Stop(stock)
	ref, err := sys.Spawn("worker", sys.Device(0), actor.PropsFromFunc(func(ctx actor.Context) {
		s := actor.StreamOf(ctx)
		say := func(err error) {
			text := ""
			if err != nil {
				text = err.Error()
			}
			if err := results.Send(s, text); err != nil {
				panic(err)
			}
		}
		switch m := ctx.Message().(type) {
		case *item:
			say(errors.Join(add(s, m.Data, 1), holds(s, m.Data, m.Want+1), m.Data.Release(s)))
		case *letter:
			b, err := buffer.New[uint32](s, n)
			if err == nil {
				err = errors.Join(transfer.Upload(s, b, m.Mem), holds(s, b, 77), b.Release(s), m.Mem.Release(s))
			}
			say(err)
		}
	}))
	if err != nil {
		return err
	}
	defer ref.Stop()
	heard := func(text string) error {
		if text != "" {
			return errors.Join(errBytes, errors.New(text))
		}
		return nil
	}
	g := sys.Group(context.Background())
	g.Go("sender", sys.Device(0), func(s *actor.Stream) error {
		for i := range uint32(3) {
			b, err := filled(s, i)
			if err != nil {
				return err
			}
			m := &item{b, i}
			if err := s.Send(stock, m); !errors.Is(err, buffer.ErrNoStream) {
				return errors.Join(errNotRefused, errors.New("a buffer for an actor without a stream"), err)
			}
			if err := errors.Join(s.Send(ref.PID(), m), refused[ownership](s.Send(ref.PID(), &item{b, i}), "sent twice")); err != nil {
				return err
			}
			text, err := results.Recv(s)
			if err := errors.Join(err, heard(text)); err != nil {
				return err
			}
		}
		return nil
	})
	err = g.Wait()
	ctx := context.Background()
	h, herr := buffer.HostOn[uint32](sys.Device(0), n)
	if herr != nil {
		return errors.Join(err, herr)
	}
	words, herr := h.SliceCtx(ctx)
	if herr != nil {
		return errors.Join(err, herr)
	}
	for i := range words {
		words[i] = 77
	}
	err = errors.Join(err, sys.Send(ctx, ref.PID(), &letter{h}), refused[ownership](sys.Send(ctx, ref.PID(), &letter{h}), "sent twice by a goroutine"))
	text, rerr := results.RecvCtx(ctx)
	return errors.Join(err, rerr, heard(text))
}

// poisoned: what was not written is not read, here or elsewhere.
func poisoned(sys *actor.System) error {
	far := actor.NewChan[buf](1)
	return two(sys, [2]int{0, 1}, func(s *actor.Stream) error {
		defer far.Close()
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		if err := s.Synchronize(); err != nil {
			return err
		}
		rule := sim.Inject(s.System().Runtime(), sim.CallFault{Call: "cuLaunchKernel", Code: cudart.ErrInvalidValue})
		failed := errors.Join(fill(s, b, 2), s.Submit())
		rule.Lift()
		if failed == nil {
			return errors.New("the launch was not refused: the program shows nothing")
		}
		out, err := filled(s, 2)
		if err != nil {
			return err
		}
		return errors.Join(refused[*buffer.PoisonError](duplicate(s, out, b), "poison read"), out.Release(s), far.Send(s, b))
	}, func(s *actor.Stream) error {
		b, err := far.Recv(s)
		if err != nil {
			return err
		}
		_, err = transfer.Pull(s, b)
		return errors.Join(refused[*buffer.PoisonError](err, "poison pulled"), b.Release(s))
	})
}

// threads: an actor's stream is its own code's to use, and nobody else's, while it waits
// and, with GPUACTOR_DEBUG=1, also while it runs.
func threads(sys *actor.System) error {
	waits, ends := actor.NewChan[int](1), actor.NewChan[int](1)
	streams := make(chan *actor.Stream, 2)
	tried := make(chan error, 1)
	g := sys.Group(context.Background())
	ref := g.Go("actor", sys.Device(0), func(s *actor.Stream) error {
		streams <- s
		if _, err := waits.Recv(s); err != nil { // suspended: it does not run
			return err
		}
		if !buffer.Debug {
			return nil
		}
		streams <- s
		return <-tried // blocked outside of the library: it runs
	})
	s := <-streams
	if err := ends.SendCtx(context.Background(), 1); err != nil {
		return err
	}
	settle()
	err := misused(s, ref, ends)
	err = errors.Join(err, waits.SendCtx(context.Background(), 1))
	if buffer.Debug {
		s = <-streams
		err = errors.Join(err, misused(s, ref, ends))
		tried <- nil
	}
	return errors.Join(err, g.Wait())
}

func misused(s *actor.Stream, ref *actor.Ref, ch *actor.Chan[int]) error {
	_, alloc := buffer.New[uint32](s, n)
	_, recv := ch.Recv(s)
	_, ask := s.Ask(ref.PID(), 1)
	var v int
	sel := actor.NewSelector(actor.Receiving(ch, &v))
	_, sel2 := sel.Wait(s)
	var errs []error
	for what, err := range map[string]error{
		"New": alloc, "Recv": recv, "Ask": ask, "Selector.Wait": sel2,
		"Send":        ch.Send(s, 1),
		"message":     s.Send(ref.PID(), 1),
		"Launch":      s.Launch(fill32, device.Linear(1)),
		"Synchronize": s.Synchronize(),
		"Submit":      s.Submit(),
		"Raw":         s.Raw(func(actor.RawStream) error { return nil }),
		"Do":          s.Do(ref, nothing{}),
	} {
		errs = append(errs, refused[*actor.ThreadError](err, what+" by a goroutine that is not the actor's"))
	}
	return errors.Join(errs...)
}

type nothing struct{}

func (nothing) Run(*device.Stream, *device.Device) error { return nil }

// parcel says by itself what it carries, and can be lied to.
type parcel[B interface{ handle() buffer.Handle }] struct{ b B }

type (
	ofDevice struct{ buf }
	ofHost   struct{ host }
)

func (b ofDevice) handle() buffer.Handle { return b.Handle }
func (h ofHost) handle() buffer.Handle   { return h.Handle }

func (p *parcel[B]) Carry(h *buffer.Handles) { h.Add(p.b.handle()) }

// changed: what a value carries when it arrives is not what it carried when it was sent.
func changed(sys *actor.System) error {
	items := actor.NewChan[*parcel[ofDevice]](1)
	toHere := actor.NewChan[*parcel[ofHost]](1)
	told := actor.NewChan[int](1)
	here := make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		<-ready
		_, err := toHere.RecvCtx(context.Background())
		here <- refused[ownership](err, "pinned memory that was not sent, received by a goroutine")
	}()
	err := two(sys, [2]int{0, 0}, func(s *actor.Stream) error {
		a, err := filled(s, 1)
		if err != nil {
			return err
		}
		b, err := filled(s, 2)
		if err != nil {
			return err
		}
		h, err := buffer.NewHost[uint32](s, n)
		if err != nil {
			return err
		}
		other, err := buffer.NewHost[uint32](s, n)
		if err != nil {
			return err
		}
		p, q := &parcel[ofDevice]{ofDevice{a}}, &parcel[ofHost]{ofHost{h}}
		if err := errors.Join(items.Send(s, p), toHere.Send(s, q)); err != nil {
			return err
		}
		p.b.buf, q.b.host = b, other
		close(ready)
		if err := told.Send(s, 1); err != nil {
			return err
		}
		return errors.Join(b.Release(s), other.Release(s))
	}, func(s *actor.Stream) error {
		if _, err := told.Recv(s); err != nil {
			return err
		}
		_, err := items.Recv(s)
		return refused[ownership](err, "a buffer that was not sent, received")
	})
	return errors.Join(err, <-here)
}

// stray: protoactor's own Send knows no error; what may not be sent becomes a dead letter.
func stray(sys *actor.System) error {
	type item struct{ Data buf }
	dead := make(chan any, 16)
	sub := sys.ActorSystem().EventStream.Subscribe(func(e any) {
		if d, ok := e.(*proto.DeadLetterEvent); ok {
			if _, ours := d.Message.(*item); ours {
				dead <- d.Message
			}
		}
	})
	defer sys.ActorSystem().EventStream.Unsubscribe(sub)
	ref, err := sys.Spawn("worker", sys.Device(0), actor.PropsFromFunc(func(actor.Context) {}))
	if err != nil {
		return err
	}
	defer ref.Stop()
	var released, kept buf
	hold := actor.NewChan[int](1)
	made := actor.NewChan[int](1)
	g := sys.Group(context.Background())
	g.Go("owner", sys.Device(0), func(s *actor.Stream) (err error) {
		if released, err = filled(s, 1); err != nil {
			return err
		}
		if kept, err = filled(s, 1); err != nil {
			return err
		}
		// Nothing is pending: whoever speaks for the owner has nothing to submit.
		if err := errors.Join(released.Release(s), s.Synchronize(), made.Send(s, 1)); err != nil {
			return err
		}
		if _, err := hold.Recv(s); err != nil { // it does not run
			return err
		}
		return kept.Release(s)
	})
	if _, err := made.RecvCtx(context.Background()); err != nil {
		return err
	}
	settle()
	sys.Root().Send(ref.PID(), &item{released})
	sys.Root().Send(ref.PID(), &item{kept})
	settle()
	err = errors.Join(hold.SendCtx(context.Background(), 1), g.Wait())
	if len(dead) != 2 {
		err = errors.Join(err, errNotRefused, errors.New("messages whose buffers are not the sender's are no dead letters"))
	}
	return err
}

// blocks is how many buffers the budget of told holds.
const blocks = 12

// told: what the driver refuses of the commands that were pending is the error of the
// call that submits them.
func told(sys *actor.System) error {
	ref, err := sys.Spawn("worker", sys.Device(0), actor.PropsFromFunc(func(ctx actor.Context) {
		if m, ok := ctx.Message().(*note); ok {
			_ = m.Data.Release(actor.StreamOf(ctx))
		}
	}))
	if err != nil {
		return err
	}
	defer ref.Stop()
	g := sys.Group(context.Background())
	g.Go("teller", sys.Device(0), func(s *actor.Stream) error {
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		c, err := filled(s, 1)
		if err != nil {
			return err
		}
		h, err := buffer.NewHost[uint32](s, n)
		if err != nil {
			return err
		}
		plain := actor.NewChan[buf](1)
		var errs []error
		for what, submits := range map[string]func(spare buf) error{
			"Synchronize": func(buf) error { return s.Synchronize() },
			"Slice":       func(buf) error { _, err := h.Slice(s); return err },
			"Send":        func(spare buf) error { return plain.Send(s, spare) },
			"a message":   func(spare buf) error { return s.Send(ref.PID(), &note{spare}) },
			"New": func(buf) error { // when the budget is used up by what is released and not known complete
				var small []buf
				for range blocks - 3 {
					b, err := buffer.New[uint32](s, n)
					if err != nil {
						return err
					}
					small = append(small, b)
				}
				for _, b := range small {
					_ = b.Release(s)
				}
				large, err := buffer.New[uint32](s, 2*n)
				if err == nil {
					err = large.Release(s)
				}
				return err
			},
		} {
			spare, err := filled(s, 2)
			if err != nil {
				return err
			}
			if err := errors.Join(s.Synchronize(), fill(s, b, 2), transfer.Download(s, h, b), s.Submit()); err != nil { // the stream has something to do
				return err
			}
			rule := sim.Inject(s.System().Runtime(), sim.CallFault{Call: "cuLaunchKernel", Code: cudart.ErrInvalidValue})
			if err := fill(s, c, 3); err != nil {
				rule.Lift()
				return err
			}
			errs = append(errs, refused[*device.SubmitError](submits(spare), "commands that were refused, by "+what))
			rule.Lift()
			if spare.Valid() && spare.State() == buffer.Exclusive {
				_ = spare.Release(s)
			}
			if err := errors.Join(fill(s, c, 1), s.Synchronize()); err != nil {
				return err
			}
		}
		plain.Discard()
		return errors.Join(append(errs, b.Release(s), c.Release(s), h.Release(s))...)
	})
	return g.Wait()
}

type note struct{ Data buf }
