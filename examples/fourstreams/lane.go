package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/device"
	"github.com/gpuactor/gpuactor/transfer"
)

// lane is a stream actor with the means to say when its work ran.
type lane struct {
	s      *actor.Stream
	k      kernels
	trace  *tracer
	rt     cudart.Runtime
	stamps buffer.Buf[uint64] // event k began at stamps[2k] and ended at stamps[2k+1]
	names  []string           // of the events
	clock  clock
	events []cudart.Event // with timing
	list   *cudart.List   // for their records
}

// newLane is called by the actor, and close too.
func newLane(s *actor.Stream, k kernels, t *tracer) (*lane, error) {
	stamps, err := buffer.New[uint64](s, 2*rounds)
	if err != nil {
		return nil, err
	}
	// A kernel's arguments say that it reads what others wrote of the stamps, so
	// they begin as something.
	if err := stamps.Fill(s, 0); err != nil {
		return nil, err
	}
	list, err := cudart.NewList(0)
	return &lane{s: s, k: k, trace: t, rt: s.System().Runtime(), stamps: stamps, list: list}, err
}

func (l *lane) close() error {
	var errs []error
	for _, e := range l.events {
		errs = append(errs, l.rt.DestroyEvent(l.s.Device().Context(), e))
	}
	l.list.Close()
	return errors.Join(append(errs, l.stamps.Release(l.s))...)
}

// launch launches one of the kernels as an event of the timeline. args are those
// in front of the stamps.
func (l *lane) launch(name string, k *device.Kernel, threads int, busy time.Duration, args ...device.Arg) error {
	at := 2 * len(l.names)
	if at+2 > l.stamps.Len() {
		return fmt.Errorf("%s: more than %d events in a stream", name, len(l.names))
	}
	l.names = append(l.names, name)
	l.trace.expect(l.s.Name(), name)
	args = append(args, l.stamps.InOut(), device.U32(uint32(at)), device.U64(uint64(busy.Nanoseconds())))
	return l.s.Launch(k, device.Blocks(1, threads), args...)
}

// times waits until the lane's stream has done everything, and tells when that ran,
// on the clock of its device.
func (l *lane) times() ([]event, error) {
	stamps, err := transfer.ToSlice(l.s, l.stamps)
	if err != nil {
		return nil, err
	}
	events := make([]event, len(l.names))
	for i, name := range l.names {
		events[i] = event{l.s.Name(), name, int64(stamps[2*i]), int64(stamps[2*i+1])}
	}
	return events, nil
}

// timeOf is when the work between two timed events ran, on the clock of the lane's
// device, and not before the stream's last event in front of it: where the clocks
// are not known to the nanosecond, the order of the stream still is.
func (l *lane) timeOf(name string, began, ended cudart.Event, after int64) (event, error) {
	ahead := l.clock.events.middle()
	start, err := l.sinceBase(began)
	if err != nil {
		return event{}, err
	}
	end, err := l.sinceBase(ended)
	start = max(start+ahead, after)
	return event{l.s.Name(), name, start, max(end+ahead, start)}, err
}
