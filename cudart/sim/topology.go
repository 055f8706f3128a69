package sim

import (
	"fmt"
	"time"
)

// Topology is a machine as its costs see it: GPUs, and what data goes over between
// them. [Preset] has some that exist; others are written down in Go.
//
// Bandwidths are in bytes a second (10⁹ is a GB/s), and of payload.
type Topology struct {
	Name string // for messages
	GPUs []GPU  // by ordinal
	// Links are what copies go over, each in one direction; a GPU names them by their
	// index here. What goes over a link at the same time shares it equally.
	Links []Link
	// HostMemory is the index of the link that stands for the host's memory: uploads
	// and downloads go over it, and peer copies that have no way of their own.
	HostMemory int
	// NoPeer says that kernels of device cannot address memory of peer, and that copies
	// between the two go through the host. Nil: all can.
	NoPeer func(device, peer int) bool
	Host   HostCosts // what a thread of the host pays
	// Start is the time from the end of the call that submits a command to the moment
	// that an idle stream can begin it.
	Start time.Duration
	// Hop is the time from the end of what a stream waits for to the moment that it
	// goes on.
	Hop time.Duration
	// Wake is the time from the end of what a thread waits for to the end of its call.
	Wake time.Duration
}

// GPU is one device of a [Topology].
type GPU struct {
	Name            string
	Memory          uint64 // bytes
	Multiprocessors int
	CopyEngines     int // copies that run at once; the others queue, first come first served
	Queues          int // hardware queues: each has a share of the streams, and starts kernels in the order of their submission
	Kernels         int // kernels that run at once; 1 makes computing exclusive

	// KernelOverhead is the least that a kernel takes whose time is not stated. On top
	// of it come the bytes of its arguments, at Throughput; kernels share that, and the
	// Bandwidth of the memory, of which a copy inside the device takes two bytes for one.
	KernelOverhead time.Duration
	Throughput     int64 // bytes a second, of all kernels together
	Bandwidth      int64 // bytes a second, of the device's memory
	// CopyOverhead is what a copy takes of its engine beyond its bytes.
	CopyOverhead time.Duration

	// The links, in the order of the way, from the host's memory and to it. Out and In
	// go to the other GPUs that have them; a pair without goes over From and To, and
	// over the host's memory where there is no peer access either.
	FromHost, ToHost []int
	Out, In          []int
}

// Link is one direction of something that data goes over.
type Link struct {
	Name      string
	Bandwidth int64         // bytes a second
	Latency   time.Duration // of the first byte
}

// HostCosts is what calls take of the thread that makes them. A command of a list counts
// as the call that the driver gets for it. Calls not named here are free.
type HostCosts struct {
	Launch      time.Duration // of a kernel
	LaunchGraph time.Duration // of a kernel, by an executable graph
	Copy        time.Duration // inside a device, and between it and the host
	Peer        time.Duration // between devices, on a stream of the source
	PeerInto    time.Duration // the same on another stream
	Fill        time.Duration
	Record      time.Duration // an event
	RecordTimed time.Duration // an event with timing
	Wait        time.Duration // for an event, by a stream
	Free        time.Duration // of memory
	Alloc       time.Duration // of memory
	Query       time.Duration // of an event
	Synchronize time.Duration // beyond the waiting
	SetCurrent  time.Duration // a context
	// Locked is the part of a launch, a copy or a fill that one thread of the process can
	// be in at a time. Contended is what such a call takes more for each other thread that
	// was in it just before.
	Locked, Contended time.Duration
}

// check panics where a topology makes no sense, as New does.
func (t *Topology) check() {
	fail := func(format string, args ...any) {
		panic("sim: topology " + t.Name + ": " + fmt.Sprintf(format, args...))
	}
	if len(t.GPUs) == 0 || len(t.GPUs) > maxDevices {
		fail("%d devices", len(t.GPUs))
	}
	if t.HostMemory < 0 || t.HostMemory >= len(t.Links) {
		fail("the host's memory is no link")
	}
	h := &t.Host
	for _, d := range [...]time.Duration{
		h.Launch, h.LaunchGraph, h.Copy, h.Peer, h.PeerInto, h.Fill, h.Record, h.RecordTimed, h.Wait, h.Free, h.Alloc,
		h.Query, h.Synchronize, h.SetCurrent, h.Locked, h.Contended, t.Start, t.Hop, t.Wake,
	} {
		if d < 0 {
			fail("something takes %v", d)
		}
	}
	for _, l := range t.Links {
		if l.Bandwidth <= 0 || l.Latency < 0 {
			fail("link %s: %d bytes a second, %v", l.Name, l.Bandwidth, l.Latency)
		}
	}
	for i, g := range t.GPUs {
		if g.Memory == 0 || g.Memory > maxMemory || g.CopyEngines <= 0 || g.Queues <= 0 || g.Kernels <= 0 || g.Throughput <= 0 || g.Bandwidth <= 0 ||
			g.KernelOverhead < 0 || g.CopyOverhead < 0 {
			fail("device %d: %+v", i, g)
		}
		for _, way := range [][]int{g.FromHost, g.ToHost, g.Out, g.In} {
			for _, l := range way {
				if l < 0 || l >= len(t.Links) {
					fail("device %d names link %d of %d", i, l, len(t.Links))
				}
			}
		}
	}
}

// way is the links that a copy goes over. A device of -1 is the host.
func (t *Topology) way(to []int, src, dst int) []int {
	to = to[:0]
	switch {
	case src < 0:
		return append(append(to, t.HostMemory), t.GPUs[dst].FromHost...)
	case dst < 0:
		return append(append(to, t.GPUs[src].ToHost...), t.HostMemory)
	}
	from, into := &t.GPUs[src], &t.GPUs[dst]
	peer := t.NoPeer == nil || !t.NoPeer(src, dst) // a copy is made by the source's device
	if peer && len(from.Out) > 0 && len(into.In) > 0 {
		return append(append(to, from.Out...), into.In...)
	}
	to = append(to, from.ToHost...)
	if !peer {
		to = append(to, t.HostMemory)
	}
	return append(to, into.FromHost...)
}
