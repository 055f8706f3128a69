package actor

import (
	"testing"

	"github.com/gpuactor/gpuactor/buffer"
)

type (
	question struct {
		A    uint32
		X    Host
		Back *Chan[replied]
	}
	replied struct{ X Host }
)

// A request through a channel holds the channel of its answer: what comes through
// that is not carried by the request.
func TestAReplyChannelInARequest(t *testing.T) {
	sys := newSystem(t)
	asks := NewChan[question](1)
	worker := start(t, sys, "worker", sys.Device(0), func(s *Stream) error {
		for q, err := range asks.All(s) {
			if err != nil {
				return err
			}
			x, err := q.X.Slice(s)
			if err != nil {
				return err
			}
			x[0] *= q.A
			if err := q.Back.Send(s, replied{q.X}); err != nil {
				return err
			}
		}
		return nil
	})
	back := NewChan[replied](1)
	h, err := buffer.HostOn[uint32](sys.Device(0), 1)
	if err != nil {
		t.Fatal(err)
	}
	x, err := h.SliceCtx(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	x[0] = 3
	if err := asks.SendCtx(soon(t), question{A: 7, X: h, Back: back}); err != nil {
		t.Fatal(err)
	}
	got, err := back.RecvCtx(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if x, err = got.X.SliceCtx(soon(t)); err != nil || x[0] != 21 {
		t.Errorf("%v, %v; want 21", x, err)
	}
	if err := got.X.ReleaseHere(); err != nil {
		t.Error(err)
	}
	asks.Close()
	finish(t, worker)
}
