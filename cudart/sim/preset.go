package sim

import (
	"fmt"
	"strings"
	"time"
)

// Presets are the names that [Preset] knows.
//
//	one-h200        one H200, as measured with the programs of bench/
//	dgx-h100        eight H100 behind NVSwitch, each with a PCIe 5.0 link to the host
//	pcie-2          two GPUs on PCIe 5.0, peer copies past the host's memory
//	pcie-4-no-p2p   four GPUs on PCIe 4.0, two behind each switch, no peer access
//	asymmetric      two GPUs on PCIe 5.0; device 0 reaches device 1, not the other way
//
// The sources of the figures are in docs/simulator.md.
func Presets() []string {
	return []string{"asymmetric", "dgx-h100", "one-h200", "pcie-2", "pcie-4-no-p2p"}
}

// Preset is a machine by its name. An unknown name panics, as a Config does that makes
// no sense. What comes back is the caller's to change.
func Preset(name string) *Topology {
	var t *Topology
	switch name {
	case "one-h200":
		t = newTopology(2 * gen5)
		t.plug(h200(), gen5)
	case "dgx-h100":
		t = newTopology(dgxHost)
		for range 8 {
			t.bridge(t.plug(h100(), gen5), nvlink4)
		}
	case "pcie-2":
		t = newTopology(hostMemory)
		for range 2 {
			t.plug(h100(), gen5)
		}
	case "pcie-4-no-p2p":
		t = newTopology(hostMemory)
		for range 2 {
			up, down := t.link("switch up", gen4, switchLatency), t.link("switch down", gen4, switchLatency)
			for range 2 {
				g := &t.GPUs[t.plug(a40(), gen4)]
				g.FromHost, g.ToHost = append([]int{down}, g.FromHost...), append(g.ToHost, up)
			}
		}
		t.NoPeer = func(device, peer int) bool { return true }
	case "asymmetric":
		t = newTopology(hostMemory)
		for range 2 {
			t.plug(h100(), gen5)
		}
		t.NoPeer = func(device, _ int) bool { return device == 1 }
	default:
		panic(fmt.Sprintf("sim: no preset %q, there are %s", name, strings.Join(Presets(), ", ")))
	}
	t.Name = name
	return t
}

// Bandwidths of payload, in bytes a second.
const (
	gen5       = 55_400_000_000  // PCIe 5.0 ×16, measured
	gen4       = 26_000_000_000  // PCIe 4.0 ×16
	nvlink4    = 374_000_000_000 // of H100 pairs over NVSwitch, one way, as published
	hostMemory = 200_000_000_000 // of one socket, for copies
	dgxHost    = 400_000_000_000 // of two

	pcieLatency   = 700 * time.Nanosecond
	switchLatency = 150 * time.Nanosecond
	nvLatency     = 400 * time.Nanosecond
)

// newTopology is a host, with the costs of calls as measured.
func newTopology(memory int64) *Topology {
	t := &Topology{
		Start: 3900 * time.Nanosecond,
		Hop:   1000 * time.Nanosecond,
		Wake:  550 * time.Nanosecond,
		Host: HostCosts{
			Launch:      3850 * time.Nanosecond,
			LaunchGraph: 1800 * time.Nanosecond,
			Copy:        2500 * time.Nanosecond,
			Peer:        5400 * time.Nanosecond,
			PeerInto:    7900 * time.Nanosecond,
			Fill:        3500 * time.Nanosecond,
			Record:      173 * time.Nanosecond,
			RecordTimed: 1128 * time.Nanosecond,
			Wait:        159 * time.Nanosecond,
			Free:        525 * time.Nanosecond,
			Alloc:       525 * time.Nanosecond,
			Query:       237 * time.Nanosecond,
			Synchronize: 500 * time.Nanosecond,
			SetCurrent:  25 * time.Nanosecond,
			Locked:      1250 * time.Nanosecond,
			Contended:   800 * time.Nanosecond,
		},
	}
	t.HostMemory = t.link("host memory", memory, 0)
	return t
}

func (t *Topology) link(name string, bandwidth int64, latency time.Duration) int {
	t.Links = append(t.Links, Link{name, bandwidth, latency})
	return len(t.Links) - 1
}

// plug adds a GPU, with a PCIe link in each direction.
func (t *Topology) plug(g GPU, pcie int64) int {
	n := len(t.GPUs)
	g.FromHost = []int{t.link(fmt.Sprint("pcie to ", n), pcie, pcieLatency)}
	g.ToHost = []int{t.link(fmt.Sprint("pcie from ", n), pcie, pcieLatency)}
	t.GPUs = append(t.GPUs, g)
	return n
}

// bridge gives a GPU a port to the others that have one.
func (t *Topology) bridge(gpu int, bandwidth int64) {
	g := &t.GPUs[gpu]
	g.Out = []int{t.link(fmt.Sprint("port from ", gpu), bandwidth, nvLatency)}
	g.In = []int{t.link(fmt.Sprint("port to ", gpu), bandwidth, nvLatency)}
}

func h200() GPU {
	return GPU{
		Name: "H200", Memory: 141 << 30, Multiprocessors: 132, CopyEngines: 3, Queues: 32, Kernels: 128,
		KernelOverhead: 1500 * time.Nanosecond, CopyOverhead: 1000 * time.Nanosecond,
		Throughput: 2_268_000_000_000, Bandwidth: 4_140_000_000_000,
	}
}

func h100() GPU {
	g := h200()
	g.Name, g.Memory = "H100", 80<<30
	g.Bandwidth = 2_890_000_000_000 // of 3.35 TB/s, in the proportion of the H200's
	return g
}

func a40() GPU {
	g := h200()
	g.Name, g.Memory, g.Multiprocessors, g.CopyEngines = "A40", 48<<30, 84, 2
	g.Throughput, g.Bandwidth = 600_000_000_000, 600_000_000_000 // of 696 GB/s
	return g
}

// like is the topology of a machine that has none: H200s, with a fast way between any
// two, of the sizes that a Config says.
func like(c Config) *Topology {
	t := newTopology(dgxHost)
	t.Name, t.NoPeer = "by default", c.NoPeer
	for range c.Devices {
		g := h200()
		g.Memory, g.CopyEngines = c.Memory, max(c.CopyEngines, 1)
		t.bridge(t.plug(g, gen5), nvlink4)
	}
	return t
}
