package cudarttest

import (
	"github.com/gpuactor/gpuactor/cudart"
)

var streamChecks = []check{
	{"runs in order", streamOrder},
	{"runs copies and kernels in order", streamMixed},
	{"keeps order over submissions", streamSubmissions},
	{"takes long lists", streamLong},
	{"does not wait for another", streamIndependent},
	{"does not copy behind another", streamIndependentCopy},
	{"may be destroyed with work in it", streamDestroy},
	{"synchronizes without work", streamEmpty},
}

// streamOrder: each step overwrites or reads what the one before wrote, and is
// logged, so that any two that change places show.
func streamOrder(f *fixture) {
	const n, rounds = 257, 50
	q := f.queue(f.main)
	p, log := q.alloc(4*n), q.alloc(4*n*rounds)
	host := f.words(n * rounds)
	for i := range uint32(rounds) {
		q.fill32(p, i, n)
		q.add32(p, 100, n)
		q.copy32(log+cudart.DevicePtr(4*n*i), p, n)
	}
	q.toHost(host, log)
	q.submit()
	q.sync()
	for i := range rounds {
		f.all(host[i*n:(i+1)*n], uint32(100+i))
	}
}

// all states that every word is want.
func (f *fixture) all(words []uint32, want uint32) {
	f.Helper()
	for i, w := range words {
		if w != want {
			f.Fatalf("word %d of %d is %d, want %d", i, len(words), w, want)
		}
	}
}

// streamMixed sends a number through every kind of command again and again, so
// that each kind is followed by each other that depends on it.
func streamMixed(f *fixture) {
	const n, rounds = 1000, 8
	q := f.queue(f.main)
	a, b := q.alloc(4*n), q.alloc(4*n)
	src, mid, dst := f.words(n), f.words(n), f.words(n)
	for i := range src {
		src[i] = 7
	}
	for range rounds {
		q.toDevice(a, src)
		q.add32(a, 1, n)
		q.append(q.list.CopyDtoD(b, a, 4*n))
		q.append(q.list.Fill(a, 9, 4, n))
		q.add32(b, 1, n)
		q.toHost(mid, b)
		q.toDevice(a, mid)
		q.copy32(b, a, n)
		q.toHost(dst, b)
		q.append(q.list.Fill(b, 0, 4, n))
	}
	q.submit()
	q.sync()
	f.all(dst, 9)
}

func streamSubmissions(f *fixture) {
	const rounds = 300
	q := f.queue(f.main)
	p, host := q.alloc(4), f.words(1)
	q.fill32(p, 0, 1)
	for range rounds {
		q.add32(p, 1, 1)
		q.submit()
	}
	q.toHost(host, p)
	q.submit()
	q.sync()
	f.all(host, rounds)
}

// streamLong gives one list of more commands than a driver's queue holds.
func streamLong(f *fixture) {
	const commands = 4000
	q := f.queue(f.main)
	p, host := q.alloc(8), f.words(2)
	l, err := cudart.NewList(1 << 20)
	f.ok(err, "NewList")
	defer l.Close()
	long := &queue{f: f, at: q.at, stream: q.stream, list: l}
	long.fill32(p, 0, 2)
	for range commands / 2 {
		long.add32(p, 1, 1)
		long.append(l.CopyDtoD(p+4, p, 4))
	}
	long.toHost(host, p)
	long.submit()
	q.sync()
	f.all(host, commands/2)
}

func streamIndependent(f *fixture) {
	q1, q2, g := f.queue(f.main), f.queue(f.main), f.gate()
	p, host, e := q2.alloc(4), f.words(1), f.event(f.main)
	g.hold(q1)
	q1.record(e)
	q1.submit()
	q2.fill32(p, 5, 1)
	q2.add32(p, 1, 1)
	q2.submit()
	q2.sync()
	f.pending(e, "the held stream")
	g.open()
	q2.toHost(host, p)
	q2.submit()
	q2.sync()
	f.all(host, 6)
}

func streamIndependentCopy(f *fixture) {
	const n = 1000
	q1, q2, g := f.queue(f.main), f.queue(f.main), f.gate()
	p, src, dst, e := q2.alloc(8*n), f.words(n), f.words(n), f.event(f.main)
	for i := range src {
		src[i] = 3
	}
	g.hold(q1)
	q1.record(e)
	q1.submit()
	q2.toDevice(p, src)
	q2.append(q2.list.CopyDtoD(p+4*n, p, 4*n))
	q2.toHost(dst, p+4*n)
	q2.submit()
	q2.sync()
	f.all(dst, 3)
	f.pending(e, "the held stream")
	g.open()
}

func streamDestroy(f *fixture) {
	q1, q2, g := f.queue(f.main), f.queue(f.main), f.gate()
	p, host, e := q2.alloc(4), f.words(1), f.event(f.main)
	q2.fill32(p, 0, 1)
	q2.submit()
	q2.sync()
	g.hold(q1)
	q1.fill32(p, 8, 1)
	q1.record(e)
	q1.submit()
	q1.destroy()
	f.pending(e, "a destroyed stream's held work")
	g.open()
	f.await(e, "a destroyed stream's work")
	q2.toHost(host, p)
	q2.submit()
	q2.sync()
	f.all(host, 8)
}

func streamEmpty(f *fixture) {
	q := f.queue(f.main)
	q.sync()
	q.submit() // an empty list
	q.sync()
	f.ok(f.rt.SynchronizeContext(f.main.ctx), "SynchronizeContext")
}
