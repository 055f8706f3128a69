package cudarttest

import (
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

var memoryChecks = []check{
	{"is aligned, and apart from other memory", memoryApart},
	{"is allocated and freed in stream order", memoryOrder},
	{"is allocated without waiting for the stream", memoryHeld},
	{"is freed on another stream", memoryElsewhere},
	{"is not given to another before its free", memoryReuse},
	{"outlives the stream that it came from", memoryOutlivesStream},
	{"outlives its pool", memoryOutlivesPool},
	{"is used in another context of the device", memoryContext},
	{"of every device is usable there", memoryDevices},
	{"runs out, and the runtime goes on", memoryOut},
	{"is kept by the pool until that is trimmed", memoryTrim},
	{"is told about", memoryInfo},
}

func memoryApart(f *fixture) {
	sizes := []uint64{1, 2, 3, 7, 255, 256, 257, 511, 513, 4095, 4097, 65537, 1 << 20, 1<<20 + 1}
	const each = 3
	q := f.queue(f.main)
	type block struct {
		p    cudart.DevicePtr
		size uint64
		host []byte
	}
	var blocks []block
	for range each {
		for _, n := range sizes {
			b := block{q.alloc(n), n, f.host(int(n))}
			if b.p%256 != 0 {
				f.Errorf("%d bytes at %#x: not aligned to 256", n, b.p)
			}
			blocks = append(blocks, b)
		}
	}
	for i, b := range blocks {
		q.append(q.list.Fill(b.p, uint32(i+1), 1, b.size))
	}
	for _, b := range blocks {
		q.append(q.list.CopyDtoH(unsafe.Pointer(&b.host[0]), b.p, b.size))
	}
	q.submit()
	q.sync()
	for i, b := range blocks {
		for k, v := range b.host {
			if v != byte(i+1) {
				f.Fatalf("byte %d of block %d (%d bytes) is %d, want %d", k, i, b.size, v, i+1)
			}
		}
	}
}

func memoryOrder(f *fixture) {
	const n, rounds = 1024, 100
	q, host := f.queue(f.main), f.words(n*2)
	for i := range uint32(rounds) {
		a := q.alloc(4 * n)
		b := q.alloc(4 * n)
		q.fill32(a, i, n)
		q.copy32(b, a, n)
		q.free(a)
		c := q.alloc(4 * n)
		q.fill32(c, i+1, n)
		q.toHost(host[:n], b)
		q.toHost(host[n:], c)
		q.free(b)
		q.free(c)
		q.submit()
		if i%10 == 9 {
			q.sync()
			f.all(host[:n], i)
			f.all(host[n:], i+1)
		}
	}
}

func memoryHeld(f *fixture) {
	const n = 1024
	q, g, host := f.queue(f.main), f.gate(), f.words(n)
	q.free(q.alloc(4 * n)) // the pool has memory now, and need not ask for it
	q.submit()
	q.sync()
	g.hold(q)
	p := q.alloc(4 * n)
	q.fill32(p, 3, n)
	q.toHost(host, p)
	q.free(p)
	q.submit()
	g.open()
	q.sync()
	f.all(host, 3)
}

func memoryElsewhere(f *fixture) {
	const n, rounds = 1024, 50
	q1, q2, host := f.queue(f.main), f.queue(f.main), f.words(n)
	e := f.event(f.main)
	for i := range uint32(rounds) {
		p := q1.alloc(4 * n)
		q1.fill32(p, i, n)
		q1.record(e)
		q1.submit()
		q2.wait(e)
		q2.add32(p, 1, n)
		q2.toHost(host, p)
		q2.free(p)
		q2.submit()
		q2.sync()
		f.all(host, i+1)
	}
}

// memoryReuse: the pool may hand freed memory out again, but not so that its
// next user and its last one meet.
func memoryReuse(f *fixture) {
	const n, others = 4096, 8
	q1, q2, g, host := f.queue(f.main), f.queue(f.main), f.gate(), f.words(n)
	p := q1.alloc(4 * n)
	q1.fill32(p, 1, n)
	g.hold(q1)
	q1.toHost(host, p)
	q1.free(p)
	q1.submit()
	for range others {
		other := q2.alloc(4 * n)
		q2.fill32(other, 2, n)
		q2.submit()
	}
	q2.launch("idle", 1)
	q2.submit()
	g.open()
	q1.sync()
	q2.sync()
	f.all(host, 1)
}

func memoryOutlivesStream(f *fixture) {
	q1, q2, host := f.queue(f.main), f.queue(f.main), f.words(100)
	p := q1.alloc(400)
	q1.fill32(p, 4, 100)
	q1.submit()
	q1.sync()
	q1.destroy()
	q2.toHost(host, p)
	q2.free(p)
	q2.submit()
	q2.sync()
	f.all(host, 4)
}

func memoryOutlivesPool(f *fixture) {
	q, host := f.queue(f.main), f.words(100)
	p := q.alloc(400)
	pool := f.pool(f.main)
	delete(f.pools, f.main)
	f.ok(f.rt.DestroyPool(f.main.ctx, pool), "DestroyPool with memory in use")
	q.fill32(p, 4, 100)
	q.toHost(host, p)
	q.free(p)
	q.submit()
	q.sync()
	f.all(host, 4)
}

func memoryContext(f *fixture) {
	const n = 1000
	q1, q2, host := f.queue(f.main), f.queue(f.twin), f.words(n)
	p, e := q1.alloc(4*n), f.event(f.main)
	q1.fill32(p, 1, n)
	q1.record(e)
	q1.submit()
	q2.wait(e)
	q2.add32(p, 1, n)
	q2.toHost(host, p)
	q2.free(p)
	q2.submit()
	q2.sync()
	f.all(host, 2)
}

func memoryDevices(f *fixture) {
	for _, at := range []*place{f.main, f.twin, f.far} {
		if at == nil {
			continue
		}
		q, host := f.queue(at), f.words(100)
		p := q.alloc(400)
		q.fill32(p, 6, 100)
		q.toHost(host, p)
		q.submit()
		q.sync()
		f.all(host, 6)
	}
}

func memoryOut(f *fixture) {
	const absurd = 1 << 46
	q, host := f.queue(f.main), f.words(100)
	p := q.alloc(400)
	q.fill32(p, 1, 100)
	pool := f.pool(f.main)
	for range 3 {
		_, err := f.rt.Alloc(f.main.ctx, pool, absurd, q.stream)
		f.refused(err, "Alloc of 64 TiB", cudart.ErrOutOfMemory)
	}
	p2 := q.alloc(400)
	q.copy32(p2, p, 100)
	q.toHost(host, p2)
	q.submit()
	q.sync()
	f.all(host, 1)
}

// sizeable is enough memory that taking it and giving it back stands out from
// what else goes on on the device, and half of it the margin.
const sizeable = 256 << 20

// unused is the memory that the device has left.
func (f *fixture) unused() uint64 {
	f.Helper()
	f.use(f.main)
	free, _, err := f.rt.MemInfo(f.main.ctx)
	f.ok(err, "MemInfo")
	return free
}

func memoryTrim(f *fixture) {
	q, pool := f.queue(f.main), f.pool(f.main)
	before := f.unused()
	p := q.alloc(sizeable)
	q.free(p)
	q.submit()
	q.sync()
	if now := f.unused(); now+sizeable/2 > before {
		f.Errorf("free memory went from %d to %d: the pool kept nothing of %d", before, now, sizeable)
	}
	f.ok(f.rt.TrimPool(f.main.ctx, pool, sizeable), "TrimPool")
	if now := f.unused(); now+sizeable/2 > before {
		f.Errorf("free memory went from %d to %d: trimming took what was to be kept", before, now)
	}
	f.ok(f.rt.TrimPool(f.main.ctx, pool, 0), "TrimPool")
	if now := f.unused(); now+sizeable/2 < before {
		f.Errorf("free memory went from %d to %d: trimming gave nothing back", before, now)
	}
	// Memory in use stays.
	host := f.words(1)
	p = q.alloc(4)
	q.fill32(p, 5, 1)
	q.submit()
	q.sync()
	f.ok(f.rt.TrimPool(f.main.ctx, pool, 0), "TrimPool")
	q.toHost(host, p)
	q.submit()
	q.sync()
	f.all(host, 5)
}

func memoryInfo(f *fixture) {
	free, total, err := f.rt.MemInfo(f.main.ctx)
	f.ok(err, "MemInfo")
	if free == 0 || free > total || total > f.infos[0].Memory {
		f.Errorf("free %d of %d, on a device of %d", free, total, f.infos[0].Memory)
	}
}
