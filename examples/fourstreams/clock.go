package main

import (
	"fmt"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/device"
	"github.com/gpuactor/gpuactor/transfer"
)

// Two devices have two clocks, and timed events a third kind. Each is compared with
// another one by the same means: something is read on the one clock, and is known to
// lie between two readings of the other.

// reading is a time t on one clock, which passed between lo and hi on another.
type reading struct{ t, lo, hi int64 }

// interval is where a number is known to lie, both ends included.
type interval struct{ lo, hi int64 }

func (v interval) middle() int64 { return v.lo + (v.hi-v.lo)/2 }

func (v interval) contains(x int64) bool { return v.lo <= x && x <= v.hi }

// minus is where a-b lies.
func (v interval) minus(w interval) interval { return interval{v.lo - w.hi, v.hi - w.lo} }

// errorAt is by how much x can be wrong.
func (v interval) errorAt(x int64) int64 { return max(x-v.lo, v.hi-x, 0) }

// ahead is by how much the one clock is ahead of the other, from all readings; step
// is how coarse the one is. Where clocks drift apart too much for one answer, the
// narrowest reading decides.
func ahead(readings []reading, step int64) interval {
	var all, best interval
	for i, r := range readings {
		v := interval{r.t - r.hi - step, r.t - r.lo + step}
		if i == 0 {
			all, best = v, v
		}
		all = interval{max(all.lo, v.lo), min(all.hi, v.hi)}
		if v.hi-v.lo < best.hi-best.lo {
			best = v
		}
	}
	if all.lo > all.hi {
		return best
	}
	return all
}

// together decides how far a clock is taken to be ahead of another one: not at
// all, as long as that is possible, since the devices of a host, or the contexts
// of a device, mostly share one.
func together(v interval) (shift, err int64) {
	if !v.contains(0) {
		shift = v.middle()
	}
	return shift, v.errorAt(shift)
}

// clock is what is known about the clock that a device's kernels read.
type clock struct {
	host   interval // by how much it is ahead of the host's
	events interval // by how much it is ahead of the time since base
	base   cudart.Event
	step   int64
}

// rounds is how often clocks are compared.
const rounds = 16

// round is one stamp of a device's clock, read by a kernel, with the host's clock and
// two timed events around it.
type round struct {
	before, after int64
	events        [2]cudart.Event
}

// calibrate compares the clock of l's device with the host's and with timed events.
func (l *lane) calibrate() error {
	var done [rounds]round
	for i := range done {
		if err := l.compareOnce(&done[i], uint32(2*i)); err != nil {
			return fmt.Errorf("clock: %w", err)
		}
	}
	stamps, err := transfer.ToSlice(l.s, l.stamps)
	if err != nil {
		return err
	}
	l.clock.base, l.clock.step = done[0].events[0], int64(stamps[1])
	var host, events []reading
	for i, r := range done {
		var at [2]int64
		for k, e := range r.events {
			if at[k], err = l.sinceBase(e); err != nil {
				return fmt.Errorf("clock: %w", err)
			}
		}
		t := int64(stamps[2*i])
		host = append(host, reading{t, r.before, r.after})
		events = append(events, reading{t, at[0], at[1]})
		l.clock.step = min(l.clock.step, int64(stamps[2*i+1]))
	}
	l.clock.host, l.clock.events = ahead(host, l.clock.step), ahead(events, l.clock.step)
	return nil
}

func (l *lane) compareOnce(r *round, at uint32) error {
	r.before = hostNow()
	if err := l.record(&r.events[0]); err != nil {
		return err
	}
	if err := l.s.Launch(l.k.stamp, device.Blocks(1, 1), l.stamps.InOut(), device.U32(at)); err != nil {
		return err
	}
	if err := l.record(&r.events[1]); err != nil {
		return err
	}
	err := l.s.Synchronize()
	r.after = hostNow()
	return err
}

// newEvent makes an event with timing, which lives as long as the lane.
func (l *lane) newEvent() (cudart.Event, error) {
	e, err := l.rt.CreateEvent(l.s.Device().Context(), true)
	if err == nil {
		l.events = append(l.events, e)
	}
	return e, err
}

// record makes an event and records it on the lane's stream, behind all that this
// was given.
func (l *lane) record(e *cudart.Event) (err error) {
	if *e, err = l.newEvent(); err != nil {
		return err
	}
	return l.s.Raw(func(raw actor.RawStream) error {
		l.list.Reset()
		l.list.Record(*e)
		_, err := l.rt.Submit(raw.Context, raw.Stream, l.list)
		return err
	})
}

// sinceBase is when a record was complete, in ns after the first one of the lane.
func (l *lane) sinceBase(e cudart.Event) (int64, error) {
	if e == l.clock.base {
		return 0, nil
	}
	d, err := l.rt.Elapsed(l.clock.base, e)
	return d.Nanoseconds(), err
}
