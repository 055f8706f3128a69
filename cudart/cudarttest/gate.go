package cudarttest

import (
	"sync/atomic"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// A gate that nobody opens ends by itself, so that a runtime which waits where it
// should not fails a check instead of hanging it. Where that has happened once
// there is no point in patience with the checks behind it.
const (
	patience   = 5 * time.Second
	impatience = 200 * time.Millisecond
)

// gate holds streams: what is behind it in a stream runs when it is open.
//
// Make what a check needs (memory, streams, events, other gates) before closing
// one: several of those calls may wait for the device. And keep what is queued
// behind one short: a driver's queue is bounded (about a thousand launches), and
// a submission to a full one blocks.
type gate struct {
	f      *fixture
	flag   *uint32 // pinned
	closed time.Time
	opened bool
}

// gate makes one, that holds nothing yet.
func (f *fixture) gate() *gate {
	f.Helper()
	g := &gate{f: f, flag: &f.words(1)[0]}
	f.gates = append(f.gates, g)
	return g
}

// hold closes the gate in a queue, behind what was submitted there.
func (g *gate) hold(q *queue) {
	g.f.Helper()
	g.holdBy(q, cudart.LaunchGraph{})
}

// holdBy is hold by an executable graph of the kernel.
func (g *gate) holdBy(q *queue, by cudart.LaunchGraph) {
	g.f.Helper()
	if g.closed.IsZero() {
		g.closed = time.Now()
	}
	q.launchBy(by, "gate", 1, word(g.flag), u64(uint64(g.f.gateLimit)))
	q.submit()
}

// open opens the gate, and states that it was closed until now: whatever came
// before did not wait for it.
func (g *gate) open() {
	g.f.Helper()
	if !g.release() {
		g.f.Fatal("something waited for a closed gate, until that gave up")
	}
}

// release opens the gate, and reports whether it was in time.
func (g *gate) release() bool {
	if g.opened || g.closed.IsZero() {
		return true
	}
	g.opened = true
	late := time.Since(g.closed) >= g.f.gateLimit
	atomic.StoreUint32(g.flag, 1)
	if late {
		g.f.gateLimit = impatience
	}
	return !late
}

// word is a word of pinned memory as a kernel's input, by its host address.
func word(p *uint32) cudart.Arg {
	return cudart.Arg{Slot: uint64(addressOf(p)), Bytes: 4, Access: cudart.In}
}
