package proof

import (
	"errors"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/cudart"
)

// raw: the stream is lent to code that fills memory by itself, behind what is pending; who
// gets the memory next comes behind that. Memory of another actor cannot be named.
func raw(sys *actor.System) error {
	ch, tried := actor.NewChan[buf](1), actor.NewChan[int](1)
	return two(sys, [2]int{0, 0}, func(s *actor.Stream) error {
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		err = errors.Join(
			add(s, b, 1), add(s, b, 1), lend(sys, s, b, 2), holds(s, b, 2), // behind what is pending, on a stream that is busy
			s.Synchronize(), lend(sys, s, b, 3), ch.Send(s, b), // with nothing else that there would be to record
		)
		if err != nil {
			return err
		}
		if _, err := tried.Recv(s); err != nil { // it is the other one's by now
			return err
		}
		return refused[ownership](s.Raw(func(actor.RawStream) error { return nil }, b.Out()), "another's memory lent with the stream")
	}, func(s *actor.Stream) error {
		b, err := ch.Recv(s)
		if err != nil {
			return err
		}
		return errors.Join(tried.Send(s, 1), holds(s, b, 3), b.Release(s))
	})
}

// lend lends the stream to a fill of b with v.
func lend(sys *actor.System, s *actor.Stream, b buf, v uint32) error {
	o, err := s.Owner()
	if err != nil {
		return err
	}
	p, bytes, err := b.Use(o, cudart.Out)
	if err != nil {
		return err
	}
	return s.Raw(func(r actor.RawStream) error {
		l, err := cudart.NewList(0)
		if err != nil {
			return err
		}
		defer l.Close()
		l.Fill(p, v, 4, bytes/4)
		_, err = sys.Runtime().Submit(r.Context, r.Stream, l)
		return err
	}, b.Out())
}
