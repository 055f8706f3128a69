package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/device"
	"github.com/gpuactor/gpuactor/transfer"
)

// Sizes of items.
const (
	KiB = 1 << 10
	MiB = 1 << 20
)

// Pipeline is a producer, whose kernel fills a buffer, and a consumer, whose
// kernel changes it, on streams of their own.
type Pipeline struct {
	Bytes int // of an item
	Items int // that are measured
	Warm  int // that go through before: rings, pools and maps have grown by then
	Depth int // items in flight

	// Alloc has the producer allocate each item and the consumer release it. By
	// default Depth buffers go round, and there is an edge in both directions,
	// which is what the baseline does.
	Alloc bool

	// Share has the consumer on the producer's thread and CUDA stream, in place of To.
	Share bool

	From, To actor.Placement

	// Begin is called when the measurement begins, Last when the last item has been
	// consumed, and End when the GPU has done all, on the consumer's thread. Last
	// may be nil.
	Begin, Last, End func()
}

// Run runs the pipeline and checks what came out of it.
func (p Pipeline) Run(g *actor.Group) error {
	items := actor.NewChan[buffer.Buf[uint32]](p.Depth)
	back := actor.NewChan[buffer.Buf[uint32]](p.Depth)
	from := g.Go("producer", p.From, func(s *actor.Stream) error { return p.produce(s, items, back) })
	to := p.To
	if p.Share && from != nil {
		to = actor.Sharing(from)
	}
	g.Go("consumer", to, func(s *actor.Stream) error { return p.consume(s, items, back) })
	return g.Wait()
}

func (p Pipeline) len() int { return p.Bytes / 4 }

func (p Pipeline) produce(s *actor.Stream, items, back *actor.Chan[buffer.Buf[uint32]]) error {
	defer items.Close()
	n := p.len()
	for i := range p.Warm + p.Items {
		var b buffer.Buf[uint32]
		var err error
		if p.Alloc || i < p.Depth {
			b, err = buffer.New[uint32](s, n)
		} else {
			b, err = back.Recv(s)
		}
		if err != nil {
			return err
		}
		if err := s.Launch(fill32, device.Linear(n), b.Out(), device.U32(uint32(i)), device.U32(uint32(n))); err != nil {
			return err
		}
		if err := items.Send(s, b); err != nil {
			return err
		}
	}
	return nil
}

func (p Pipeline) consume(s *actor.Stream, items, back *actor.Chan[buffer.Buf[uint32]]) error {
	n, total := p.len(), p.Warm+p.Items
	var kept []buffer.Buf[uint32] // the last ones, to be checked when all is done
	keep := min(p.Depth, total)
	for i := range total {
		if i == p.Warm {
			if err := s.Synchronize(); err != nil {
				return err
			}
			p.Begin()
		}
		b, err := items.Recv(s)
		if err != nil {
			return fmt.Errorf("after %d items of %d: %w", i, total, err)
		}
		if err := s.Launch(add32, device.Linear(n), b.InOut(), device.U32(1), device.U32(uint32(n))); err != nil {
			return err
		}
		switch {
		case i >= total-keep:
			kept = append(kept, b)
		case p.Alloc:
			err = b.Release(s)
		default:
			err = back.Send(s, b)
		}
		if err != nil {
			return err
		}
	}
	if p.Last != nil {
		p.Last()
	}
	if err := s.Synchronize(); err != nil {
		return err
	}
	p.End()
	if _, err := items.Recv(s); !errors.Is(err, actor.ErrClosed) {
		return fmt.Errorf("more than %d items: %v", total, err)
	}
	return p.check(s, kept, total)
}

// check compares what the last items left, large ones by the last alone.
func (p Pipeline) check(s *actor.Stream, kept []buffer.Buf[uint32], total int) error {
	for i, b := range kept {
		if p.Bytes <= 16*MiB || i == len(kept)-1 {
			if err := checkWords(s, b, uint32(total-len(kept)+i+1)); err != nil {
				return err
			}
		}
		if err := b.Release(s); err != nil {
			return err
		}
	}
	return nil
}

// checkWords downloads a buffer and compares each word with want. The null runtime
// has no bytes.
func checkWords(s *actor.Stream, b buffer.Buf[uint32], want uint32) error {
	if s.System().Runtime().Name() == "null" {
		return nil
	}
	h, err := buffer.NewHost[uint32](s, b.Len())
	if err != nil {
		return err
	}
	if err := transfer.Download(s, h, b); err != nil {
		return err
	}
	words, err := h.Slice(s)
	if err != nil {
		return err
	}
	for i, w := range words {
		if w != want {
			return fmt.Errorf("word %d is %d, want %d", i, w, want)
		}
	}
	return h.Release(s)
}

// item is the time that a pipeline takes for each of its items, in ns.
func (p Pipeline) item(h *hall) (float64, error) {
	var began time.Time
	var took time.Duration
	p.Begin = func() { began = time.Now() }
	p.End = func() { took = time.Since(began) }
	g, cancel := h.group()
	defer cancel()
	if err := p.Run(g); err != nil {
		return 0, err
	}
	return float64(took.Nanoseconds()) / float64(p.Items), nil
}

// placed is a round of a pipeline between two threads, or on one.
func (p Pipeline) placed(s setup, colocated bool) func(*Rig) (float64, error) {
	return func(r *Rig) (float64, error) {
		h, err := r.hall(s)
		if err != nil {
			return 0, err
		}
		p := p
		p.Items, p.Bytes = r.few(p.Items), r.small(p.Bytes)
		if r.Quick && p.Bytes > MiB {
			p.Items = min(p.Items, 2)
		}
		p.Warm = p.Items/10 + p.Depth
		p.From, p.To = h.Device(0), h.Device(0)
		if colocated {
			t, err := h.thread(0)
			if err != nil {
				return 0, err
			}
			p.From, p.To = actor.On(t), actor.On(t)
		}
		return p.item(h)
	}
}

func pipelineRounds() []Round {
	var all []Round
	add := func(name, side string, run func(*Rig) (float64, error)) {
		all = append(all, Round{name, side, Nanoseconds, run})
	}
	p := Pipeline{Bytes: 4 * KiB, Items: 20000, Depth: 8}
	alloc := p
	alloc.Alloc = true
	add("pipeline-4KiB-8", "go-threads", p.placed(setup{}, false))
	add("pipeline-4KiB-8", "go-colocated", p.placed(setup{}, true))
	add("pipeline-4KiB-8", "go-threads-alloc", alloc.placed(setup{}, false))
	add("pipeline-4KiB-8", "go-colocated-alloc", alloc.placed(setup{}, true))
	one := Pipeline{Bytes: 4 * KiB, Items: 15000, Depth: 1}
	parking := one
	parking.Items = 3000
	add("pipeline-4KiB-1", "go-colocated", one.placed(setup{}, true))
	add("pipeline-4KiB-1", "go-latency", one.placed(setup{policy: actor.Latency}, false))
	add("pipeline-4KiB-1", "go-balanced", one.placed(setup{policy: actor.Balanced}, false))
	add("pipeline-4KiB-1", "go-frugal", parking.placed(setup{policy: actor.Frugal}, false))
	for _, c := range []struct {
		size         string
		bytes, items int
	}{{"64KiB", 64 * KiB, 15000}, {"1MiB", MiB, 10000}, {"16MiB", 16 * MiB, 4000}, {"256MiB", 256 * MiB, 200}} {
		p := Pipeline{Bytes: c.bytes, Items: c.items, Depth: 8}
		add("pipeline-"+c.size+"-8", "go-threads", p.placed(setup{}, false))
		add("pipeline-"+c.size+"-8", "go-colocated", p.placed(setup{}, true))
	}
	return all
}
