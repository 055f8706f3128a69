package bench

import (
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/cudart/check"
)

// underCheck is the pipeline, a thread each, under the race checker, which has to find
// nothing. Its system is opened for the round.
func underCheck(p Pipeline) func(*Rig) (float64, error) {
	return func(r *Rig) (ns float64, err error) {
		rt, err := r.runtime(setup{})
		if err != nil {
			return 0, err
		}
		var race atomic.Pointer[check.Report]
		sys, err := actor.NewSystem(actor.WithOpenRuntime(rt), actor.WithDevices(1), actor.WithLogger(slog.New(slog.DiscardHandler)),
			actor.WithCheck(func(r *check.Report) { race.Store(r) }))
		if err != nil {
			return 0, err
		}
		h := &hall{System: sys}
		defer func() { err = errors.Join(err, h.close()) }()
		if err := h.Load(module); err != nil {
			return 0, err
		}
		p := p
		p.Items = r.few(p.Items)
		p.Warm = p.Items/10 + p.Depth
		p.From, p.To = h.Device(0), h.Device(0)
		ns, err = p.item(h)
		if found := race.Load(); found != nil {
			err = errors.Join(err, found)
		}
		return ns, err
	}
}

func checkRounds() []Round {
	p := Pipeline{Bytes: 4 * KiB, Items: 20000, Depth: 8}
	return []Round{
		{"handoff-check", "go", Nanoseconds, p.placed(setup{}, false)},
		{"handoff-check", "go-race", Nanoseconds, underCheck(p)},
	}
}
