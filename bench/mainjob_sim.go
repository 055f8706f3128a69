package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/cudart/cudarttest/bytecount"
	"github.com/gpuactor/gpuactor/device"
	"github.com/gpuactor/gpuactor/transfer"
)

var (
	jobModule     = device.NewModule(bytecount.Kernels)
	jobCount      = jobModule.Kernel("hist256", device.In[byte](), device.Scalar[uint64](), device.InOut[uint32]())
	jobAccumulate = jobModule.Kernel("accumulate", device.In[uint32](), device.InOut[uint64]())
	jobMerge      = jobModule.Kernel("merge", device.In[uint64](), device.InOut[uint64]())
)

// simulated does the job with two devices of the simulator, also where there is a GPU.
func simulated(r *Rig, j *mainJob) (time.Duration, error) {
	h, err := r.hall(setup{simulated: true})
	if err != nil {
		return 0, err
	}
	if err := h.Load(jobModule); err != nil {
		return 0, err
	}
	g, cancel := h.group()
	defer cancel()
	began := time.Now()
	err = j.simulate(g, h.Device(0), h.Device(1))
	return time.Since(began), err
}

// jobItem is a chunk on its way.
type jobItem struct {
	file int
	data buffer.Buf[byte]
	bins buffer.Buf[uint32]
	last bool
}

// simulate has the actors of the first device produce, and those of the second consume.
func (j *mainJob) simulate(g *actor.Group, first, second *device.Device) error {
	var in [jobConsumers]*actor.Chan[jobItem]
	for i := range in {
		in[i] = actor.NewChan[jobItem](jobDepth)
		g.Go(fmt.Sprintf("consumer-%d", i), second, func(s *actor.Stream) error { return j.consume(s, in[i]) })
	}
	files := newTurns(len(j.files), func() {
		for _, c := range in {
			c.Close()
		}
	})
	for i := range jobProducers {
		g.Go(fmt.Sprintf("producer-%d", i), first, func(s *actor.Stream) error {
			defer files.end()
			p := jobProducer{s: s}
			for i := range files.all {
				if err := p.file(in[i%len(in)], i, j.files[i]); err != nil {
					return err
				}
			}
			return p.release()
		})
	}
	return g.Wait()
}

// jobProducer reads into one slab while the other is being copied from.
type jobProducer struct {
	s     *actor.Stream
	slabs [2]buffer.Host[byte]
	turn  int
}

func (p *jobProducer) file(to *actor.Chan[jobItem], file int, rest []byte) error {
	for len(rest) > 0 {
		n := min(jobChunk, len(rest))
		item, err := p.chunk(rest[:n])
		if err != nil {
			return err
		}
		rest = rest[n:]
		item.file, item.last = file, len(rest) == 0
		if err := to.Send(p.s, item); err != nil {
			return err
		}
	}
	return nil
}

// chunk reads a chunk, and issues its upload and the counting of its bytes.
func (p *jobProducer) chunk(b []byte) (item jobItem, err error) {
	h := &p.slabs[p.turn]
	p.turn = (p.turn + 1) % len(p.slabs)
	if !h.Valid() {
		if *h, err = buffer.NewHost[byte](p.s, jobChunk); err != nil {
			return item, err
		}
	}
	mem, err := h.Slice(p.s) // waits for the copy of two chunks ago
	if err != nil {
		return item, err
	}
	n := copy(mem, b)
	if item.bins, err = buffer.New[uint32](p.s, 256); err != nil {
		return item, err
	}
	if item.data, err = buffer.New[byte](p.s, n); err != nil {
		return item, err
	}
	if err := transfer.Upload(p.s, item.data, *h); err != nil {
		return item, err
	}
	if err := item.bins.Fill(p.s, 0); err != nil {
		return item, err
	}
	return item, p.s.Launch(jobCount, device.Linear(n), item.data.In(), device.U64(uint64(n)), item.bins.InOut())
}

func (p *jobProducer) release() error {
	for _, h := range p.slabs {
		if h.Valid() {
			if err := h.Release(p.s); err != nil {
				return err
			}
		}
	}
	return nil
}

// jobFileCounts are the counts of a file, and where they land.
type jobFileCounts struct {
	on   buffer.Buf[uint64]
	host buffer.Host[uint64]
}

func (j *mainJob) consume(s *actor.Stream, in *actor.Chan[jobItem]) error {
	total, err := buffer.New[uint64](s, 256)
	if err != nil {
		return err
	}
	if err := total.Fill(s, 0); err != nil {
		return err
	}
	files := map[int]jobFileCounts{}
	for item, err := range in.All(s) {
		if err != nil {
			return err
		}
		f, ok := files[item.file]
		if !ok {
			if f, err = newFileCounts(s); err != nil {
				return err
			}
			files[item.file] = f
		}
		if err := f.take(s, item); err != nil {
			return err
		}
		if item.last {
			if err := f.land(s, total); err != nil {
				return err
			}
		}
	}
	for i, f := range files {
		counts, err := f.host.Slice(s)
		if err != nil {
			return err
		}
		j.counts[i] = histogram(counts)
		if err := f.host.Release(s); err != nil {
			return err
		}
	}
	part, err := transfer.ToSlice(s, total)
	if err != nil {
		return err
	}
	j.add(part)
	return total.Release(s)
}

func newFileCounts(s *actor.Stream) (f jobFileCounts, err error) {
	if f.host, err = buffer.NewHost[uint64](s, 256); err != nil {
		return f, err
	}
	if f.on, err = buffer.New[uint64](s, 256); err != nil {
		return f, err
	}
	return f, f.on.Fill(s, 0)
}

// take pulls a chunk to this device and adds its counts.
func (f jobFileCounts) take(s *actor.Stream, item jobItem) error {
	bins, err := transfer.Pull(s, item.bins)
	if err != nil {
		return err
	}
	data, err := transfer.Pull(s, item.data)
	if err != nil {
		return err
	}
	if err := s.Launch(jobAccumulate, device.Blocks(1, 256), bins.In(), f.on.InOut()); err != nil {
		return err
	}
	return errors.Join(bins.Release(s), data.Release(s))
}

// land adds the counts of a complete file to the total, and sends them to the host.
func (f jobFileCounts) land(s *actor.Stream, total buffer.Buf[uint64]) error {
	if err := transfer.Download(s, f.host, f.on); err != nil {
		return err
	}
	if err := s.Launch(jobMerge, device.Blocks(1, 256), f.on.In(), total.InOut()); err != nil {
		return err
	}
	return f.on.Release(s)
}
