package transfer

import (
	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/device"
)

// staging is how ordinary memory goes through pinned memory: in chunks, so that the
// CPU copies one while the GPU copies another.
type staging struct {
	chunk   int    // bytes of a slab
	helpers int    // goroutines that copy, beside the actor's own
	pinned  int    // bytes of slabs that an upload takes before it waits for the GPU
	pause   func() // in tests: see crew
}

// stage is how all transfers are staged. Tests vary it, and BenchmarkSlices compares.
var stage = staging{chunk: 1 << 20, helpers: 1, pinned: 64 << 20}

// ahead is how many chunks may be on the CPU's side at a time: one that the actor
// copies, and where others help, one that each copies and one that each finds next.
func ahead(helpers int32) int { return 1 + 2*int(helpers) }

// stager brings a buffer's elements from ordinary memory, or to it.
type stager[T buffer.Element] struct {
	s     *actor.Stream
	o     *buffer.Owner
	b     buffer.Buf[T]
	mem   []T // of the buffer's length
	chunk int // elements
	n     int // chunks
	most  int // slabs
	ahead int
	crew  *crew[T]

	slabs []buffer.Host[T] // all of them
	queue []slab[T]        // those that the GPU copies, or the CPU, oldest first
}

// slab is pinned memory for a chunk, and the point of its last copy.
type slab[T buffer.Element] struct {
	host buffer.Host[T]
	last device.Point
}

// chunkOf is how many elements a slab holds.
func chunkOf[T buffer.Element]() int {
	return max(stage.chunk/int(elemSize[T]()), 1)
}

func newStager[T buffer.Element](s *actor.Stream, o *buffer.Owner, b buffer.Buf[T], mem []T) *stager[T] {
	chunk := chunkOf[T]()
	n := (len(mem) + chunk - 1) / chunk
	helpers := helpersFor(stage.helpers)
	g := &stager[T]{
		s: s, o: o, b: b, mem: mem, chunk: chunk, n: n, ahead: ahead(helpers),
		most: max(stage.pinned/stage.chunk, ahead(helpers)+1), crew: newCrew[T](n, helpers),
	}
	g.crew.pause = stage.pause
	return g
}

// part is chunk i of the ordinary memory.
func (g *stager[T]) part(i int) []T { return g.mem[i*g.chunk : min((i+1)*g.chunk, len(g.mem))] }

// close ends the copying, and gives the slabs back, which are reused when their last
// copies are complete. err is what went wrong before.
func (g *stager[T]) close(err error) error {
	g.crew.close()
	for _, h := range g.slabs {
		err = undo(err, h.Release(g.s))
	}
	return err
}

// more takes one more slab.
func (g *stager[T]) more() (slab[T], error) {
	h, err := buffer.NewHost[T](g.s, g.chunk)
	if err == nil {
		g.slabs = append(g.slabs, h)
	}
	return slab[T]{host: h}, err
}

// pop takes the oldest slab out of the queue.
func (g *stager[T]) pop() slab[T] {
	x := g.queue[0]
	g.queue = append(g.queue[:0], g.queue[1:]...)
	return x
}

// up uploads the memory. In steady state it has two slabs, since the GPU copies
// faster than the CPU. Where the stream is busy with something else it takes more,
// up to most, rather than wait for that.
func (g *stager[T]) up() error {
	var filling []slab[T] // by the crew, oldest first
	for sent := 0; sent < g.n; {
		for k := sent + len(filling); k < min(g.n, sent+g.ahead); k++ {
			x, err := g.empty()
			if err != nil {
				return err
			}
			mem, err := x.host.Slice(g.s)
			if err != nil {
				return err
			}
			filling = append(filling, x)
			g.crew.add(mem, g.part(k))
		}
		if !g.crew.finished(sent) {
			if !g.crew.help() {
				g.crew.await(sent)
			}
			continue
		}
		x := filling[0]
		filling = append(filling[:0], filling[1:]...)
		if err := uploadAt(g.s, g.o, g.b, sent*g.chunk, len(g.part(sent)), x.host); err != nil {
			return err
		}
		var err error
		if x.last, err = g.o.Stream.Flush(false); err != nil {
			return err
		}
		g.queue = append(g.queue, x)
		sent++
	}
	return nil
}

// empty is a slab that the CPU may write: the one whose upload is the oldest, where
// that is complete, else one more.
func (g *stager[T]) empty() (slab[T], error) {
	if len(g.queue) == 0 {
		return g.more()
	}
	done, err := g.queue[0].last.Done(g.s.Device())
	switch {
	case err != nil:
		return slab[T]{}, err
	case !done && len(g.slabs) < g.most:
		return g.more()
	}
	return g.pop(), nil // who takes its slice waits for what is still on its way
}

// down downloads into the memory. The GPU is one chunk ahead of the CPU.
func (g *stager[T]) down() error {
	var free []slab[T]
	there := 0 // chunks that the GPU has brought
	for copied := 0; copied < g.n; {
		for k := copied + len(g.queue); k < min(g.n, copied+g.ahead+1); k++ {
			var x slab[T]
			var err error
			if n := len(free); n > 0 {
				x, free = free[n-1], free[:n-1]
			} else if x, err = g.more(); err != nil {
				return err
			}
			if err := downloadAt(g.s, g.o, x.host, g.b, k*g.chunk, len(g.part(k))); err != nil {
				return err
			}
			if x.last, err = g.o.Stream.Flush(false); err != nil {
				return err
			}
			g.queue = append(g.queue, x)
		}
		for there < copied+len(g.queue) {
			x := g.queue[there-copied]
			if there > copied { // else there is nothing to do but wait for it
				if done, err := x.last.Done(g.s.Device()); err != nil {
					return err
				} else if !done {
					break
				}
			}
			mem, err := x.host.Slice(g.s)
			if err != nil {
				return err
			}
			g.crew.add(g.part(there), mem)
			there++
		}
		if !g.crew.finished(copied) {
			if !g.crew.help() {
				g.crew.await(copied)
			}
			continue
		}
		free = append(free, g.pop())
		copied++
	}
	return nil
}
