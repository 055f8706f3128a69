package cudarttest

import (
	"fmt"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

var peerChecks = []check{
	{"copies every size at every offset", peerSizes},
	{"copies without an edge to the other stream", peerNoEdge},
	{"copies behind its own stream", peerOwnOrder},
	{"copies behind an event of the other stream", peerEdge},
	{"copies both ways at once", peerBothWays},
	{"is not offered to a device and itself", peerSelf},
	{"is enabled twice", peerEnable},
	{"memory is read and written by kernels", peerKernel},
}

// sides calls fn for each pair, and each stream that may carry the copy.
func (f *fixture) sides(fn func(p pair, from, to, carrier *queue, name string)) {
	for _, p := range f.pairs() {
		from, to := f.queue(p.from), f.queue(p.to)
		fn(p, from, to, from, p.name+" on the source's stream")
		fn(p, from, to, to, p.name+" on the destination's stream")
	}
}

// peerCopy appends the copy to q.
func (q *queue) peerCopy(p pair, dst, src cudart.DevicePtr, n uint64) {
	q.f.Helper()
	q.append(q.list.CopyPeer(dst, p.to.ctx, src, p.from.ctx, n))
}

func peerSizes(f *fixture) {
	const most, guard = 1<<20 + 64, 0xEE
	src, host := f.host(most), f.host(most)
	pattern(src, 3)
	f.sides(func(p pair, from, to, carrier *queue, name string) {
		a, b := from.alloc(most), to.alloc(most)
		from.append(from.list.CopyHtoD(a, hostOf(src), most))
		from.submit()
		from.sync()
		for _, n := range copyLengths {
			for _, off := range copyOffsets {
				size := uint64(n + 2*margin + 8)
				to.append(to.list.Fill(b, guard, 1, size))
				to.submit()
				to.sync()
				carrier.peerCopy(p, devicePtr(b, margin+off[1]), devicePtr(a, off[0]), uint64(n))
				carrier.submit()
				carrier.sync()
				to.append(to.list.CopyDtoH(hostOf(host), b, size))
				to.submit()
				to.sync()
				f.landed(host[:size], off[1], src, off[0], n, guard, fmt.Sprintf("%s, %d bytes from %d to %d", name, n, off[0], off[1]))
			}
		}
	})
}

// peerNoEdge: this is what the copy does not do. The other stream may be held,
// the copy runs; who wants an edge adds it.
func peerNoEdge(f *fixture) {
	f.sides(func(p pair, from, to, carrier *queue, name string) {
		g, done := f.gate(), f.event(carrier.at)
		a, b, host := from.alloc(4), to.alloc(4), f.words(1)
		other := from
		if carrier == from {
			other = to
		}
		from.fill32(a, 1, 1)
		from.submit()
		from.sync()
		to.fill32(b, 0, 1)
		to.submit()
		to.sync()
		g.hold(other)
		carrier.peerCopy(p, b, a, 4)
		carrier.record(done)
		carrier.submit()
		f.await(done, name+" with the other held")
		g.open()
		other.sync()
		to.toHost(host, b)
		to.submit()
		to.sync()
		f.all(host, 1)
	})
}

func peerOwnOrder(f *fixture) {
	f.sides(func(p pair, from, to, carrier *queue, name string) {
		g, done := f.gate(), f.event(carrier.at)
		a, b, host := from.alloc(4), to.alloc(4), f.words(1)
		writer := f.queue(p.from)
		from.sync() // a is allocated in its order
		writer.fill32(a, 1, 1)
		writer.submit()
		to.fill32(b, 0, 1)
		to.submit()
		writer.sync()
		to.sync()
		g.hold(carrier)
		carrier.peerCopy(p, b, a, 4)
		carrier.record(done)
		carrier.submit()
		writer.fill32(a, 2, 1)
		writer.submit()
		writer.sync()
		f.pending(done, name+" behind a gate")
		g.open()
		carrier.sync()
		to.toHost(host, b)
		to.submit()
		to.sync()
		f.all(host, 2)
	})
}

func peerEdge(f *fixture) {
	const n = 1000
	f.sides(func(p pair, from, to, carrier *queue, name string) {
		g := f.gate()
		written, copied := f.event(p.from), f.event(carrier.at)
		a, b, host := from.alloc(4*n), to.alloc(4*n), f.words(n)
		writer, reader := f.queue(p.from), f.queue(p.to)
		from.fill32(a, 1, n)
		from.submit()
		from.sync()
		to.fill32(b, 0, n)
		to.submit()
		to.sync()
		g.hold(writer)
		writer.fill32(a, 2, n)
		writer.record(written)
		writer.submit()
		carrier.wait(written)
		carrier.peerCopy(p, b, a, 4*n)
		carrier.record(copied)
		carrier.submit()
		reader.wait(copied)
		reader.toHost(host, b)
		reader.submit()
		f.pending(copied, name+" behind an event")
		g.open()
		reader.sync()
		f.all(host, 2)
	})
}

func peerBothWays(f *fixture) {
	const n, rounds = 1 << 16, 10
	for _, p := range f.pairs() {
		back := pair{p.name, p.to, p.from}
		q1, q2 := f.queue(p.from), f.queue(p.to)
		a, aIn := q1.alloc(4*n), q1.alloc(4*n)
		b, bIn := q2.alloc(4*n), q2.alloc(4*n)
		h1, h2 := f.words(n), f.words(n)
		q1.fill32(a, 1, n)
		q1.submit()
		q2.fill32(b, 2, n)
		q2.submit()
		q1.sync()
		q2.sync()
		for range rounds {
			q1.peerCopy(p, bIn, a, 4*n)
			q1.submit()
			q2.peerCopy(back, aIn, b, 4*n)
			q2.submit()
		}
		q1.sync()
		q2.sync()
		q1.toHost(h1, aIn)
		q1.submit()
		q2.toHost(h2, bIn)
		q2.submit()
		q1.sync()
		q2.sync()
		f.all(h1, 2)
		f.all(h2, 1)
	}
}

func peerSelf(f *fixture) {
	can, err := f.rt.CanAccessPeer(0, 0)
	f.ok(err, "CanAccessPeer")
	if can {
		f.Error("a device is its own peer")
	}
	// Two contexts of one device have nothing to enable either.
	f.refused(f.rt.EnablePeer(f.main.ctx, f.twin.ctx), "EnablePeer of one device", cudart.ErrPeerUnsupported)
}

// canReach reports whether kernels of device 0 may address device 1's memory,
// and skips the check where there is no such device.
func (f *fixture) canReach() bool {
	if f.far == nil {
		f.Skip("needs two devices")
	}
	can, err := f.rt.CanAccessPeer(0, 1)
	f.ok(err, "CanAccessPeer")
	return can
}

func peerEnable(f *fixture) {
	can := f.canReach()
	for range 2 {
		err := f.rt.EnablePeer(f.main.ctx, f.far.ctx)
		if can {
			f.ok(err, "EnablePeer")
		} else {
			f.refused(err, "EnablePeer", cudart.ErrPeerUnsupported)
		}
	}
}

// peerKernel: a pool's memory is reached by who was allowed to, whether
// allocated before or after.
func peerKernel(f *fixture) {
	if !f.canReach() {
		f.Skip("device 0 cannot reach device 1")
	}
	const n = 1000
	q, far, host := f.queue(f.main), f.queue(f.far), f.words(2*n)
	before := far.alloc(4 * n)
	f.ok(f.rt.AllowPeer(f.far.ctx, f.pool(f.far), 0), "AllowPeer")
	after := far.alloc(4 * n)
	far.fill32(before, 1, n)
	far.submit()
	far.sync()
	q.copy32(after, before, n)
	q.add32(after, 1, n)
	q.submit()
	q.sync()
	far.append(far.list.CopyDtoH(unsafe.Pointer(&host[0]), before, 4*n))
	far.append(far.list.CopyDtoH(unsafe.Pointer(&host[n]), after, 4*n))
	far.submit()
	far.sync()
	f.all(host[:n], 1)
	f.all(host[n:], 2)
}
