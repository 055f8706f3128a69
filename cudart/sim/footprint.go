package sim

import "github.com/gpuactor/gpuactor/cudart"

// footprint is what a step of the device or of the host touches. Two steps whose
// footprints do not meet may change places, and nobody sees a difference.
type footprint struct {
	spans []touched

	ends, asks   bool // it ends a command; it asks how far a stream is
	lives, frees bool // it depends on what memory is live; it changes that
}

// touched is a range of addresses, of a device or the host.
type touched struct {
	from, to uint64
	write    bool
}

// addresses of the host are below, of devices above
const hostEnd = addressMark

func (f *footprint) touch(p, bytes uint64, write bool) {
	if bytes > 0 {
		f.spans = append(f.spans, touched{p, p + bytes, write})
	}
}

func (f *footprint) everything() {
	f.ends, f.asks, f.lives, f.frees = true, true, true, true
	f.touch(0, 1<<63, true)
}

// meets reports whether the order of two steps of different streams, or of one and
// the host, may matter.
func (f *footprint) meets(g *footprint) bool {
	if f.ends && g.asks || f.asks && g.ends || f.frees && (g.lives || g.frees) || f.lives && g.frees {
		return true
	}
	for _, a := range f.spans {
		for _, b := range g.spans {
			if (a.write || b.write) && a.from < b.to && b.from < a.to {
				return true
			}
		}
	}
	return false
}

// ofCall is what the host does from the beginning of a call on. What its own code
// does between two calls is not known: anything with pinned memory.
func ofCall(call string) (f footprint) {
	switch call {
	case "cuStreamSynchronize", "cuCtxSynchronize": // then awaits
	case "", "await", "cuStreamCreate", "cuStreamDestroy", "cuEventCreate", "cuEventDestroy", "cuMemPoolCreate",
		"cuModuleLoadDataEx", "cuModuleGetFunction", "cuGraphInstantiateWithFlags", "cuGraphExecDestroy",
		"cuMemHostAlloc", "cuMemFreeHost":
		f.touch(0, hostEnd, true)
	case "cuEventQuery":
		f.asks = true
	case "cuMemAllocFromPoolAsync":
		f.lives, f.frees = true, true
		f.touch(0, hostEnd, true)
	case "submit", "cuLaunchKernel", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuMemcpyPeerAsync",
		"cuMemsetD8Async", "cuMemsetD16Async", "cuMemsetD32Async", "cuEventRecord", "cuStreamWaitEvent", "cuMemFreeAsync":
		f.lives = true
	default:
		f.everything()
	}
	return f
}

// ofStep is what the part i of the command that a track is at touches: i is negative
// for a part that reads.
func (l *track) ofStep(it *item, i int) (f footprint) {
	c := &l.cmd
	switch {
	case it.op == cudart.OpFree:
		f.lives, f.frees = true, true
		if m, ok := l.stream.sim.memoryOf(c.Dst); ok {
			if s := m.spanAt(c.Dst); s != nil {
				f.touch(c.Dst, uint64(1)<<min(s.shift, 62), true)
			}
		}
	case it.op == cudart.OpLaunch && l.launch.live:
		l.arguments(&f, func(a cudart.Access) (read, write bool) { return true, a.Writes() })
	case it.op == cudart.OpLaunch && i < 0:
		l.arguments(&f, func(a cudart.Access) (read, write bool) { return a != cudart.Out, false })
	case it.op == cudart.OpLaunch:
		l.arguments(&f, func(a cudart.Access) (read, write bool) { return false, a.Writes() })
	case it.op == cudart.OpFill:
		f.touch(c.Dst, c.Bytes, true)
	case i < 0:
		f.touch(c.Src, c.Bytes, false)
	default:
		f.touch(c.Dst, c.Bytes, true)
	}
	return f
}

func (l *track) arguments(f *footprint, does func(cudart.Access) (read, write bool)) {
	for i := range l.cmd.Args() {
		a := l.cmd.Arg(i)
		if a.Access == cudart.Scalar {
			continue
		}
		if read, write := does(a.Access); read || write {
			f.touch(a.Slot, a.Bytes, write)
		}
	}
}
