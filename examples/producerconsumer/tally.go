package main

import (
	"errors"
	"slices"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/transfer"
)

// tally is the counts of a file, on a consumer's device.
type tally struct {
	counts buffer.Buf[uint64]
	seen   buffer.Buf[uint64] // counted again from what arrived; with -verify
}

func newTally(s *actor.Stream, verify bool) (t tally, err error) {
	if t.counts, err = buffer.New[uint64](s, values); err == nil && verify {
		t.seen, err = buffer.New[uint64](s, values)
	}
	return t, err
}

// zero makes it the counts of nothing yet.
func (t tally) zero(s *actor.Stream) error {
	if err := t.counts.Fill(s, 0); err != nil || !t.seen.Valid() {
		return err
	}
	return t.seen.Fill(s, 0)
}

func (t tally) release(s *actor.Stream) error {
	return errors.Join(release(s, t.counts), release(s, t.seen))
}

// landings are the counts of complete files on their way to the host. The
// consumer does not wait for them but when the places are used up, so that a
// tree of small files does not wait for each.
type landings struct {
	ring [16]landing
	next int
}

type landing struct {
	file         int
	counts, seen buffer.Host[uint64]
	flying       bool
}

// send issues the copies of a file's counts.
func (l *landings) send(c *consumer, file int, t tally) error {
	at := &l.ring[l.next]
	l.next = (l.next + 1) % len(l.ring)
	if err := at.land(c); err != nil {
		return err
	}
	at.file, at.flying = file, true
	if err := download(c.s, &at.counts, t.counts); err != nil || !c.verify {
		return err
	}
	return download(c.s, &at.seen, t.seen)
}

// download issues a copy to pinned memory, which it allocates for the first one.
func download(s *actor.Stream, to *buffer.Host[uint64], from buffer.Buf[uint64]) (err error) {
	if !to.Valid() {
		if *to, err = buffer.NewHost[uint64](s, values); err != nil {
			return err
		}
	}
	return transfer.Download(s, *to, from)
}

// land waits for the copies, and makes the file a result.
func (l *landing) land(c *consumer) error {
	if !l.flying {
		return nil
	}
	l.flying = false
	counts, err := l.counts.Slice(c.s)
	if err != nil {
		return err
	}
	path := c.files[l.file].path
	if c.verify {
		seen, err := l.seen.Slice(c.s)
		if err != nil {
			return err
		}
		if !slices.Equal(seen, counts) {
			c.results.damage(path)
		}
	}
	c.results.complete(path, histogram(counts))
	return nil
}

// all lands what is on its way, and releases the memory.
func (l *landings) all(c *consumer) (err error) {
	for i := range l.ring {
		at := &l.ring[(l.next+i)%len(l.ring)]
		err = errors.Join(err, at.land(c))
		for _, h := range []buffer.Host[uint64]{at.counts, at.seen} {
			if h.Valid() {
				err = errors.Join(err, h.Release(c.s))
			}
		}
	}
	return err
}
