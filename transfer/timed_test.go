package transfer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
	"github.com/gpuactor/gpuactor/device"
)

// The events of Timed stand around the copy and behind what it waits for: the
// source's kernel, which runs on another stream than the copy, is not in between.
func TestTimedIsBehindWhatTheCopyWaitsFor(t *testing.T) {
	rt := sim.New(sim.Config{})
	defer rt.Close()
	sys, err := actor.NewSystem(actor.WithOpenRuntime(rt))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	type timed struct {
		data                buffer.Buf[uint32]
		start, began, ended cudart.Event
	}
	const busyFor = 20 * time.Millisecond
	busy := module.Kernel("busy", device.Scalar[uint64]())
	items, read := actor.NewChan[timed](1), actor.NewChan[bool](1)
	g := sys.Group(ctx)
	g.Go("source", sys.Device(0), func(s *actor.Stream) error {
		var events [3]cudart.Event
		var err error
		for i := range events {
			if events[i], err = rt.CreateEvent(s.Device().Context(), true); err != nil {
				return err
			}
		}
		b, err := buffer.New[uint32](s, 1000)
		if err != nil {
			return err
		}
		err = s.Raw(func(r actor.RawStream) error {
			l, err := cudart.NewList(0)
			if err != nil {
				return err
			}
			defer l.Close()
			l.Record(events[0])
			_, err = rt.Submit(r.Context, r.Stream, l)
			return err
		})
		if err != nil {
			return err
		}
		if err := s.Launch(busy, device.Blocks(1, 1), device.U64(uint64(busyFor))); err != nil {
			return err
		}
		if err := b.Fill(s, 7); err != nil {
			return err
		}
		if err := items.Send(s, timed{b, events[0], events[1], events[2]}); err != nil {
			return err
		}
		if _, err := read.Recv(s); err != nil { // the events are read
			return err
		}
		for _, e := range events {
			err = errors.Join(err, rt.DestroyEvent(s.Device().Context(), e))
		}
		return err
	})
	g.Go("destination", sys.Device(1), func(s *actor.Stream) error {
		v, err := items.Recv(s)
		if err != nil {
			return err
		}
		b, err := Pull(s, v.data, Timed(v.began, v.ended))
		if err != nil {
			return err
		}
		if _, err := ToSlice(s, b); err != nil {
			return err
		}
		waited, err := rt.Elapsed(v.start, v.began)
		if err != nil || waited < busyFor {
			t.Errorf("the copy began %v after the kernel was issued that takes %v (%v)", waited, busyFor, err)
		}
		if took, err := rt.Elapsed(v.began, v.ended); err != nil || took <= 0 {
			t.Errorf("the copy took %v (%v)", took, err)
		}
		if err := b.Release(s); err != nil {
			return err
		}
		return read.Send(s, true)
	})
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if err := sys.Close(ctx); err != nil {
		t.Error(err)
	}
}
