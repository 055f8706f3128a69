package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// switched is n GPUs, each with a port into one switch and a link to the host.
func switched(n int) *Topology {
	t := newTopology(dgxHost)
	t.Name = "switched"
	for range n {
		g := h100()
		t.bridge(t.plug(g, gen5), nvlink4)
	}
	return t
}

// A thousand devices that send each other blocks, each transfer with its three edges. The
// machine's time is exact; what it took of real time is in the output.
func TestThousandDevicesSimulateInSeconds(t *testing.T) {
	const devices, bytes = 1024, 64 << 20
	transfers := 100_000
	if raceEnabled {
		transfers = 5_000 // the detector's time, not ours
	}
	began := time.Now()
	var took [2]time.Duration
	for i := range took {
		took[i] = exchange(t, devices, transfers, bytes)
	}
	if took[0] != took[1] {
		t.Errorf("%v, and %v the second time", took[0], took[1])
	}
	t.Logf("%d transfers of %d MiB between %d devices: %v of virtual time, %v of real time",
		transfers, bytes>>20, devices, took[0], time.Since(began)/2)
}

func exchange(t *testing.T, devices, transfers int, bytes uint64) time.Duration {
	g := newRig(t, Config{Clock: Virtual(), Topology: switched(devices), NoBytes: true})
	type node struct {
		ctx            cudart.Context
		copies, work   cudart.Stream
		src, dst       cudart.DevicePtr
		wrote, arrived cudart.Event
	}
	nodes := make([]node, devices)
	for i := range nodes {
		n := &nodes[i]
		n.ctx = must(g.r.RetainPrimary(i))
		g.use(n.ctx)
		pool := must(g.r.CreatePool(n.ctx))
		n.copies, n.work = must(g.r.CreateStream(n.ctx)), must(g.r.CreateStream(n.ctx))
		n.src, n.dst = must(g.r.Alloc(n.ctx, pool, bytes, n.work)), must(g.r.Alloc(n.ctx, pool, bytes, n.work))
		n.wrote, n.arrived = must(g.r.CreateEvent(n.ctx, false)), must(g.r.CreateEvent(n.ctx, false))
	}
	give := func(ctx cudart.Context, s cudart.Stream, fill func(l *cudart.List)) {
		g.list.Reset()
		fill(g.list)
		if _, err := g.r.Submit(ctx, s, g.list); err != nil {
			t.Fatal(err)
		}
	}
	began := g.r.Now()
	random := rand.New(rand.NewPCG(1, 2))
	for range transfers {
		from, to := &nodes[random.IntN(devices)], &nodes[random.IntN(devices)]
		g.use(from.ctx)
		give(from.ctx, from.work, func(l *cudart.List) { l.Record(from.wrote) })
		g.use(to.ctx)
		give(to.ctx, to.work, func(l *cudart.List) { l.Record(to.wrote) })
		g.use(from.ctx)
		give(from.ctx, from.copies, func(l *cudart.List) {
			l.Wait(from.wrote)
			l.Wait(to.wrote)
			l.CopyPeer(to.dst, to.ctx, from.src, from.ctx, bytes)
			l.Record(from.arrived)
		})
		give(from.ctx, from.work, func(l *cudart.List) { l.Wait(from.arrived) })
		g.use(to.ctx)
		give(to.ctx, to.work, func(l *cudart.List) { l.Wait(from.arrived); l.Fill(to.dst, 0, 4, bytes/4) })
	}
	for i := range nodes {
		g.use(nodes[i].ctx)
		g.is(g.r.SynchronizeContext(nodes[i].ctx), 0)
	}
	took := g.r.Now() - began
	g.use(g.ctx)
	return took
}
