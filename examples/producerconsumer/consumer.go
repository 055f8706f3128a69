package main

import (
	"errors"
	"maps"
	"slices"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/transfer"
)

// consumer adds up the chunks of its files. What is not released on the way to
// an error is taken back when the actor ends.
type consumer struct {
	*pipeline
	s     *actor.Stream
	index int

	total  buffer.Buf[uint64] // of the complete files
	open   map[int]tally      // of the files that have begun and not ended
	unused []tally
	check  buffer.Buf[uint32] // of the chunk at hand, as it arrived; with -verify
	landed landings
}

// consume is a consumer's actor.
func (p *pipeline) consume(s *actor.Stream, index int) error {
	c := &consumer{pipeline: p, s: s, index: index, open: map[int]tally{}}
	if err := c.begin(); err != nil {
		return err
	}
	p.consumerBegan()
	for item, err := range p.in[index].All(s) {
		if err != nil {
			return err
		}
		if err := c.take(item); err != nil {
			return err
		}
	}
	if err := c.end(); err != nil {
		return err
	}
	if index > 0 {
		return p.totals.Send(s, c.total)
	}
	return c.gather()
}

// begin allocates all that the consumer will need beside chunks. Every producer
// has one file open at most, and each file is of one consumer.
func (c *consumer) begin() (err error) {
	if c.total, err = buffer.New[uint64](c.s, values); err != nil {
		return err
	}
	if err := c.total.Fill(c.s, 0); err != nil {
		return err
	}
	if c.verify {
		if c.check, err = buffer.New[uint32](c.s, values); err != nil {
			return err
		}
	}
	mine := (len(c.files) - c.index + c.consumers - 1) / c.consumers
	for range min(c.producers, mine) {
		t, err := newTally(c.s, c.verify)
		if err != nil {
			return err
		}
		c.unused = append(c.unused, t)
	}
	return nil
}

// end waits for the files that are complete, and forgets those that are not: an
// interrupt leaves such.
func (c *consumer) end() error {
	err := errors.Join(c.landed.all(c), release(c.s, c.check))
	for _, t := range slices.AppendSeq(c.unused, maps.Values(c.open)) {
		err = errors.Join(err, t.release(c.s))
	}
	return err
}

// take adds a chunk to its file, and finishes the file where it was the last.
func (c *consumer) take(item chunk) error {
	if item.data.Valid() {
		if err := c.add(item); err != nil {
			return err
		}
	}
	if !item.last {
		return nil
	}
	t, begun := c.open[item.file]
	if begun {
		delete(c.open, item.file)
		c.unused = append(c.unused, t) // what reuses it comes later in the stream
	}
	path := c.files[item.file].path
	switch {
	case item.err != nil:
		c.results.fail(path, item.err)
	case !begun:
		c.results.complete(path, histogram{})
	default:
		return c.complete(item.file, t)
	}
	return nil
}

// add pulls a chunk to this device and adds its counts to the file's. The launches
// on one total are in the order of the stream, as they must be.
func (c *consumer) add(item chunk) error {
	t, err := c.tally(item.file)
	if err != nil {
		return err
	}
	if item.bins, err = transfer.Pull(c.s, item.bins); err != nil {
		return err
	}
	if item.data, err = transfer.Pull(c.s, item.data); err != nil {
		return err
	}
	if err := c.s.Launch(accumulate, addGrid, item.bins.In(), t.counts.InOut()); err != nil {
		return err
	}
	if c.verify {
		if err := c.recount(item.data, t); err != nil {
			return err
		}
	}
	return item.release(c.s)
}

// recount counts once more what has arrived.
func (c *consumer) recount(data buffer.Buf[byte], t tally) error {
	if err := count256(c.s, data, c.check); err != nil {
		return err
	}
	return c.s.Launch(accumulate, addGrid, c.check.In(), t.seen.InOut())
}

// tally is that of a file; at its first chunk an unused one becomes it.
func (c *consumer) tally(file int) (tally, error) {
	if t, ok := c.open[file]; ok {
		return t, nil
	}
	last := len(c.unused) - 1
	t := c.unused[last]
	c.unused, c.open[file] = c.unused[:last], t
	return t, t.zero(c.s)
}

// complete sends a file's counts to the host and adds them to those of all.
func (c *consumer) complete(file int, t tally) error {
	if err := c.landed.send(c, file, t); err != nil {
		return err
	}
	return c.s.Launch(merge, addGrid, t.counts.In(), c.total.InOut())
}

// gather brings the totals of all consumers together on the first one's device.
func (c *consumer) gather() error {
	for range len(c.in) - 1 {
		far, err := c.totals.Recv(c.s)
		if err != nil {
			return err
		}
		part, err := transfer.Pull(c.s, far)
		if err != nil {
			return err
		}
		if err := c.s.Launch(merge, addGrid, part.In(), c.total.InOut()); err != nil {
			return err
		}
		if err := part.Release(c.s); err != nil {
			return err
		}
	}
	all, err := transfer.ToSlice(c.s, c.total)
	if err != nil {
		return err
	}
	c.results.all(histogram(all))
	return c.total.Release(c.s)
}
