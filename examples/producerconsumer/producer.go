package main

import (
	"context"
	"errors"
	"io"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/transfer"
)

// producer reads files and has their bytes counted, one chunk at a time.
type producer struct {
	*pipeline
	s   *actor.Stream
	ctx context.Context // the actor's

	// Two, by turns: one is read into while the other is being copied from.
	slabs [2]buffer.Host[byte]
	turn  int
}

// produce is a producer's actor. That it was told to end is no failure of it; an
// interrupt may close the channels a moment before it ends the context.
func (p *pipeline) produce(s *actor.Stream) error {
	defer p.producerEnded()
	r := producer{pipeline: p, s: s, ctx: s.Context()}
	err := r.scan()
	for _, h := range r.slabs {
		if h.Valid() {
			err = errors.Join(err, h.Release(s))
		}
	}
	if r.ctx.Err() != nil || errors.Is(err, actor.ErrClosed) {
		return nil
	}
	return err
}

// scan takes one file after another, once the consumers are ready.
func (r *producer) scan() error {
	if _, err := r.ready.Recv(r.s); !errors.Is(err, actor.ErrClosed) {
		return err
	}
	for r.ctx.Err() == nil {
		i := int(r.next.Add(1)) - 1
		if i >= len(r.files) {
			return nil
		}
		if err := r.file(i); err != nil {
			return err
		}
	}
	return context.Cause(r.ctx)
}

// file sends a file's chunks to the consumer that gets this file.
func (r *producer) file(i int) error {
	to := r.in[i%len(r.in)]
	f, err := openReader(r.files[i].path)
	if err != nil {
		return to.Send(r.s, chunk{file: i, last: true, err: err})
	}
	defer f.close()
	for {
		c, err := r.chunk(i, f)
		if err == nil {
			err = to.Send(r.s, c)
		}
		if err != nil {
			return errors.Join(err, c.release(r.s)) // not sent, so still ours
		}
		if c.last {
			return nil
		}
	}
}

// chunk is the next one of a file. With an error it is not complete, and to be
// released.
func (r *producer) chunk(i int, f *reader) (c chunk, err error) {
	c.file = i
	h, err := r.slab()
	if err != nil {
		return c, err
	}
	mem, err := h.Slice(r.s) // waits for the copy of two chunks ago
	if err != nil {
		return c, err
	}
	n, err := r.read(f, mem)
	switch {
	case r.ctx.Err() != nil:
		return c, context.Cause(r.ctx)
	case errors.Is(err, io.EOF):
		c.last = true
		return c, nil
	case err != nil:
		c.last, c.err = true, err
		return c, nil
	}
	c.last = f.end
	r.reference.count(r.files[i].path, mem[:n])
	return c, r.upload(&c, h, n)
}

// slab is the pinned memory whose turn it is.
func (r *producer) slab() (buffer.Host[byte], error) {
	h := &r.slabs[r.turn]
	r.turn = (r.turn + 1) % len(r.slabs)
	var err error
	if !h.Valid() {
		*h, err = buffer.NewHost[byte](r.s, r.job.chunk)
	}
	return *h, err
}

// pieceLen bounds a read, so that an interrupt need not wait for a large chunk.
const pieceLen = 1 << 20

// read fills mem, or as much of it as there is; io.EOF where there is nothing.
func (r *producer) read(f *reader, mem []byte) (n int, err error) {
	for n < len(mem) && !f.end && r.ctx.Err() == nil {
		got, err := f.next(mem[n:min(n+pieceLen, len(mem))])
		if errors.Is(err, io.EOF) && n > 0 {
			break
		}
		if err != nil {
			return n, err
		}
		n += got
		r.progress(got)
	}
	return n, nil
}

// upload issues the copy of a chunk to the device and the counting of its bytes.
// Nothing here waits for the GPU, but for memory.
func (r *producer) upload(c *chunk, h buffer.Host[byte], n int) (err error) {
	if c.bins, err = buffer.New[uint32](r.s, values); err != nil {
		return err
	}
	if c.data, err = buffer.New[byte](r.s, n); err != nil {
		return err
	}
	if err := transfer.Upload(r.s, c.data, h); err != nil {
		return err
	}
	return count256(r.s, c.data, c.bins)
}
