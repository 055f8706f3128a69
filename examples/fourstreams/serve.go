package main

import (
	"errors"
	"fmt"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/device"
	"github.com/gpuactor/gpuactor/transfer"
)

// blockThreads is the one block of the kernels that work on data.
const blockThreads = 1024

// server is one of the four actors: it does what it is ordered to.
type server struct {
	*scenario
	*lane
	data         buffer.Buf[uint32] // of gpu1s1: the copy
	began, ended cudart.Event       // of gpu2s1: around the copy
}

// serve is the code of the actors.
func (sc *scenario) serve(s *actor.Stream) (err error) {
	l, err := newLane(s, sc.kernels, sc.trace)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if s.Name() == gpu1s1 || s.Name() == gpu2s1 { // one of each device is enough
		if err := sc.calibrate(l); err != nil {
			return err
		}
	}
	if err := sc.ready.Send(s, s.Name()); err != nil {
		return err
	}
	v := &server{scenario: sc, lane: l}
	for o, err := range sc.orders[s.Name()].All(s) {
		if err != nil {
			return err
		}
		if err := v.do(o); err != nil {
			return err
		}
	}
	return v.finish()
}

// calibrate has the devices compare their clocks one after the other.
func (sc *scenario) calibrate(l *lane) error {
	turn, err := sc.turn.Recv(l.s)
	if err != nil {
		return err
	}
	if err := l.calibrate(); err != nil {
		return err
	}
	return sc.turn.Send(l.s, turn)
}

func (v *server) do(o order) error {
	switch o.step {
	case stepPrepare:
		return v.prepare(o)
	case stepFill:
		return v.fillAndSend(o)
	case stepPull:
		return v.receiveAndPull()
	case stepUse:
		n := device.U32(uint32(v.elements))
		return v.launch(o.name, v.k.use, blockThreads, o.busy, v.data.InOut(), n)
	}
	return v.launch(o.name, v.k.work, 1, o.busy)
}

// prepare works in memory that is released at once: the copy's destination is the
// same, and must not be written while the kernel runs.
func (v *server) prepare(o order) error {
	b, err := buffer.New[uint32](v.s, v.elements)
	if err != nil {
		return err
	}
	n := device.U32(uint32(v.elements))
	if err := v.launch(o.name, v.k.fill, blockThreads, o.busy, b.Out(), n, device.U32(^uint32(seed))); err != nil {
		return err
	}
	return b.Release(v.s)
}

// fillAndSend is GPU 2's side. With the buffer goes the point of its last use; no
// CPU waits for the kernel.
func (v *server) fillAndSend(o order) (err error) {
	if v.began, err = v.newEvent(); err != nil {
		return err
	}
	if v.ended, err = v.newEvent(); err != nil {
		return err
	}
	b, err := buffer.New[uint32](v.s, v.elements)
	if err != nil {
		return err
	}
	n := device.U32(uint32(v.elements))
	if err := v.launch(o.name, v.k.fill, blockThreads, o.busy, b.Out(), n, device.U32(seed)); err != nil {
		return err
	}
	return v.parcel.Send(v.s, parcel{b, v.began, v.ended})
}

// receiveAndPull is GPU 1's side. The buffer arrives Foreign; the copy is a message
// to gpu2s1, on whose stream it is issued, with the waits that it needs.
func (v *server) receiveAndPull() error {
	p, err := v.parcel.Recv(v.s)
	if err != nil {
		return err
	}
	v.data, err = transfer.Pull(v.s, p.data, transfer.Via(v.source), transfer.Timed(p.began, p.ended))
	if err != nil {
		return err
	}
	return v.pulled.Send(v.s, eventCopy)
}

// finish waits for the stream's work, tells when it ran, and looks at the data.
func (v *server) finish() error {
	events, err := v.times()
	if err != nil {
		return err
	}
	if v.ended != 0 {
		e, err := v.timeOf(eventCopy, v.began, v.ended, events[len(events)-1].End)
		if err != nil {
			return fmt.Errorf("%s: %w", eventCopy, err)
		}
		events = append(events, e)
	}
	var wrong error
	if v.data.Valid() {
		if wrong, err = v.verify(); err != nil {
			return err
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ran[v.s.Name()] = events
	if v.clock.step > 0 {
		v.clocks[v.s.Name()] = v.clock
	}
	v.wrong = errors.Join(v.wrong, wrong)
	return nil
}

// verify compares the data that arrived and was used with what it must be.
func (v *server) verify() (wrong, err error) {
	got, err := transfer.ToSlice(v.s, v.data)
	if err != nil {
		return nil, err
	}
	return compare(got, v.elements), v.data.Release(v.s)
}

func compare(got []uint32, n int) error {
	if len(got) != n {
		return fmt.Errorf("%d elements arrived, and must be %d", len(got), n)
	}
	for i, v := range got {
		if want := used(filled(i, seed)); v != want {
			return fmt.Errorf("element %d of the data that arrived is %#x, and must be %#x", i, v, want)
		}
	}
	return nil
}
