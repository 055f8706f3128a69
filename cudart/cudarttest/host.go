package cudarttest

import "unsafe"

var hostChecks = []check{
	{"is aligned, and apart from other memory", hostApart},
	{"is used from every context", hostContexts},
	{"is addressed by kernels", hostKernel},
	{"is allocated again after it was freed", hostFree},
}

func hostApart(f *fixture) {
	var blocks [][]byte
	for _, n := range []int{1, 3, 8, 4096, 4097, 1<<20 + 1, 1, 3} {
		b := f.host(n)
		if uintptr(unsafe.Pointer(&b[0]))%16 != 0 {
			f.Errorf("%d bytes at %p: not aligned to 16", n, &b[0])
		}
		blocks = append(blocks, b)
	}
	for i, b := range blocks {
		b[0], b[len(b)-1] = byte(i+1), byte(i+1)
	}
	for i, b := range blocks {
		if b[0] != byte(i+1) || b[len(b)-1] != byte(i+1) {
			f.Errorf("block %d was written over", i)
		}
	}
}

func hostContexts(f *fixture) {
	host := f.words(2) // allocated in main
	for _, at := range []*place{f.main, f.twin, f.far} {
		if at == nil {
			continue
		}
		q := f.queue(at)
		p := q.alloc(4)
		host[0], host[1] = host[0]+1, 0
		q.toDevice(p, host[:1])
		q.toHost(host[1:], p)
		q.submit()
		q.sync()
		f.all(host[1:], host[0])
	}
}

// hostKernel: with one address space a kernel takes the host's address.
func hostKernel(f *fixture) {
	const n = 1000
	for _, at := range []*place{f.main, f.twin, f.far} {
		if at == nil {
			continue
		}
		q, src, dst := f.queue(at), f.words(n), f.words(n)
		for i := range src {
			src[i] = 40
		}
		q.copy32(addressOf(&dst[0]), addressOf(&src[0]), n)
		q.add32(addressOf(&dst[0]), 2, n)
		q.submit()
		q.sync()
		f.all(dst, 42)
	}
}

func hostFree(f *fixture) {
	q := f.queue(f.main)
	p := q.alloc(4096)
	for i := range 20 {
		h, err := f.rt.AllocHost(f.main.ctx, 4096)
		f.ok(err, "AllocHost")
		q.append(q.list.Fill(p, uint32(i), 1, 4096))
		q.append(q.list.CopyDtoH(h, p, 4096))
		q.submit()
		q.sync()
		got := *(*byte)(unsafe.Add(h, 4095))
		f.ok(f.rt.FreeHost(f.main.ctx, h), "FreeHost")
		if got != byte(i) {
			f.Fatalf("round %d: %d", i, got)
		}
	}
}
