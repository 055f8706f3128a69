package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/device"
)

// pipeline joins producers and consumers:
//
//	files ──▶ producers ──in[file mod consumers]──▶ consumers ──totals──▶ the first consumer
//
// All chunks of a file come from one producer and meet at one consumer, in order,
// since a channel keeps it. A full channel holds its producers up, so what is
// held in memory does not depend on what there is to read.
//
// However little device memory there is, somebody can always go on: consumers have
// all that is theirs before the first chunk is read, a producer allocates a chunk's
// counts before its data, and a consumer pulls them in that order. So whoever holds
// data waits for none.
type pipeline struct {
	job
	sys     *actor.System
	results *results

	next    atomic.Int64          // the first file that no producer has taken
	reading atomic.Int64          // producers that have not ended
	unready atomic.Int64          // consumers that have not begun
	ready   *actor.Chan[struct{}] // closed when all consumers have
	in      []*actor.Chan[chunk]
	totals  *actor.Chan[buffer.Buf[uint64]]
}

func newPipeline(sys *actor.System, j job, r *results) *pipeline {
	p := &pipeline{job: j, sys: sys, results: r}
	p.totals = actor.NewChan[buffer.Buf[uint64]](j.consumers)
	p.ready = actor.NewChan[struct{}](1)
	for range j.consumers {
		p.in = append(p.in, actor.NewChan[chunk](j.depth))
	}
	p.reading.Store(int64(j.producers))
	p.unready.Store(int64(j.consumers))
	return p
}

// run scans the files. An interrupt ends reading at once; what is complete by then
// is brought together as ever, so consumers do not see the end of ctx.
func (p *pipeline) run(ctx context.Context) error {
	if err := p.sys.Load(module); err != nil {
		return err
	}
	g := p.sys.Group(context.WithoutCancel(ctx))
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(g.Context(), func() { stop(context.Cause(g.Context())) })()
	defer context.AfterFunc(ctx, p.discard)()
	if err := p.start(g, reading); err != nil {
		return err
	}
	err := g.Wait()
	p.discard()
	p.totals.Discard()
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// start starts the actors; producers end with reading, which ends with an interrupt,
// or with the group.
func (p *pipeline) start(g *actor.Group, reading context.Context) error {
	left, right := sides(p.sys.Devices(), p.producers, p.consumers)
	p.results.on(p.sys, inOrder(left, right))
	places, err := p.places(left, right)
	if err != nil {
		return err
	}
	for i, d := range right {
		g.Go(fmt.Sprintf("consumer-%d", i), places[d], func(s *actor.Stream) error { return p.consume(s, i) })
	}
	for i, d := range left {
		g.Go(fmt.Sprintf("producer-%d", i), places[d], p.produce, actor.WithContext(reading))
	}
	return nil
}

// places are where the actors of each device run: on threads of their own, or on
// one for all of them.
func (p *pipeline) places(sides ...[]*device.Device) (map[*device.Device]actor.Placement, error) {
	places := map[*device.Device]actor.Placement{}
	for _, d := range inOrder(sides...) {
		places[d] = d
		if p.colocate {
			t, err := p.sys.NewThread(d)
			if err != nil {
				return nil, err
			}
			places[d] = actor.On(t)
		}
	}
	return places, nil
}

// consumerBegan lets producers begin behind the last one.
func (p *pipeline) consumerBegan() {
	if p.unready.Add(-1) == 0 {
		p.ready.Close()
	}
}

// producerEnded closes the channels behind the last one.
func (p *pipeline) producerEnded() {
	if p.reading.Add(-1) > 0 {
		return
	}
	for _, c := range p.in {
		c.Close()
	}
}

// discard closes the channels to the consumers, and releases what is in them.
func (p *pipeline) discard() {
	for _, c := range p.in {
		c.Discard()
	}
}

// sides gives each producer and each consumer its device: by turns those of even
// index to producers, of odd index to consumers. A single device is on both sides.
func sides(devices []*device.Device, producers, consumers int) (left, right []*device.Device) {
	pick := func(actors, first int) (list []*device.Device) {
		if first >= len(devices) {
			first = 0
		}
		of := (len(devices) - first + 1) / 2
		for i := range actors {
			list = append(list, devices[first+2*(i%of)])
		}
		return list
	}
	return pick(producers, 0), pick(consumers, 1)
}

// inOrder is every device of the lists, once, by index.
func inOrder(lists ...[]*device.Device) []*device.Device {
	var all []*device.Device
	for _, list := range lists {
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b *device.Device) int { return a.Index() - b.Index() })
	return slices.Compact(all)
}
