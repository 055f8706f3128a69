package bench

import (
	"runtime"
	"time"

	"github.com/gpuactor/gpuactor/actor"
)

// handoffCPU is what a hand-off between two actors on one thread costs beside the
// driver's calls, which cost nothing on the null runtime: what an item of the
// pipeline takes, less its two launches, by its two hand-offs.
func handoffCPU(n int) func(*Rig) (float64, error) {
	return func(r *Rig) (float64, error) {
		h, err := r.hall(setup{null: true})
		if err != nil {
			return 0, err
		}
		n := r.few(n)
		launch, err := launchCPU(h, n)
		if err != nil {
			return 0, err
		}
		item, err := (Pipeline{Bytes: 4 * KiB, Items: n, Depth: 1}).placed(setup{null: true}, true)(r)
		if err != nil {
			return 0, err
		}
		return max(0, item-2*launch) / 2, nil
	}
}

// launchCPU is what a launch that is submitted by itself costs on a hall.
func launchCPU(h *hall, n int) (float64, error) {
	var began time.Time
	var took time.Duration
	g, cancel := h.group()
	defer cancel()
	g.Go("launcher", h.Device(0), func(s *actor.Stream) error {
		b, err := zeroed(s)
		if err != nil {
			return err
		}
		for i := range n + n/10 {
			if i == n/10 {
				began = time.Now()
			}
			if err := add1(s, b); err != nil {
				return err
			}
			if err := s.Submit(); err != nil {
				return err
			}
		}
		took = time.Since(began)
		return b.Release(s)
	})
	if err := g.Wait(); err != nil {
		return 0, err
	}
	return float64(took.Nanoseconds()) / float64(n), nil
}

// counted runs the pipeline on a counting hall and gives what count makes of the
// calls and the allocations of its measured part.
func counted(p Pipeline, count func(c calls, mallocs uint64, handoffs int) float64) func(*Rig) (float64, error) {
	return func(r *Rig) (float64, error) {
		h, err := r.hall(setup{counting: true})
		if err != nil {
			return 0, err
		}
		p := p
		p.Items = r.few(p.Items)
		p.Warm = 2000
		p.From, p.To = h.Device(0), h.Device(0)
		if p.Share {
			t, err := h.thread(0)
			if err != nil {
				return 0, err
			}
			p.From = actor.On(t)
		}
		var before, after calls
		var m0, m1 runtime.MemStats
		p.Begin = func() {
			runtime.ReadMemStats(&m0)
			before = callsOf(h.count)
		}
		p.Last = func() {
			after = callsOf(h.count)
			runtime.ReadMemStats(&m1)
		}
		p.End = func() {}
		g, cancel := h.group()
		defer cancel()
		if err := p.Run(g); err != nil {
			return 0, err
		}
		return count(after.since(before), m1.Mallocs-m0.Mallocs, 2*p.Items), nil
	}
}

// reserved is how many KiB of device memory a one-way pipeline takes from the
// driver once it is warm.
func reserved(p Pipeline) func(*Rig) (float64, error) {
	return func(r *Rig) (float64, error) {
		h, err := r.hall(setup{})
		if err != nil {
			return 0, err
		}
		p := p
		p.Items = r.few(p.Items)
		p.Warm = p.Items / 2
		p.From, p.To = h.Device(0), h.Device(0)
		var before, after uint64
		p.Begin = func() { before = h.Device(0).Memory().Reserved }
		p.End = func() { after = h.Device(0).Memory().Reserved }
		g, cancel := h.group()
		defer cancel()
		if err := p.Run(g); err != nil {
			return 0, err
		}
		return float64(after-before) / KiB, nil
	}
}

func handoffRounds() []Round {
	p := Pipeline{Bytes: 4 * KiB, Items: 5000, Depth: 8}
	same := p
	same.Share = true
	return append(checkRounds(), []Round{
		{"handoff-cpu", "go", Nanoseconds, handoffCPU(50000)},
		{"handoff-same-stream", "go", Count, counted(same, func(c calls, _ uint64, handoffs int) float64 {
			return float64(c.records+c.waits) / float64(handoffs)
		})},
		{"handoff-records", "go", Count, counted(p, func(c calls, _ uint64, handoffs int) float64 {
			return float64(c.records) / float64(handoffs)
		})},
		{"handoff-waits", "go", Count, counted(p, func(c calls, _ uint64, handoffs int) float64 {
			return float64(c.waits) / float64(handoffs)
		})},
		{"handoff-allocs", "go", Allocations, counted(p, func(_ calls, mallocs uint64, handoffs int) float64 {
			return float64(mallocs) / float64(handoffs)
		})},
		{"reserved-4KiB", "go", Kilobytes, reserved(Pipeline{Bytes: 4 * KiB, Items: 10000, Depth: 8, Alloc: true})},
		{"reserved-1MiB", "go", Kilobytes, reserved(Pipeline{Bytes: MiB, Items: 5000, Depth: 8, Alloc: true})},
	}...)
}
