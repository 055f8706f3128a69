package cudarttest

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/gpuactor/gpuactor/cudart"
)

var threadChecks = []check{
	{"each has its own stream", threadStreams},
	{"each has its own context", threadContexts},
	{"several submit to one stream", threadShared},
	{"pass events to each other", threadEvents},
	{"make and destroy at once", threadMake},
}

// threads runs fn on n OS threads at once, with the place of each current.
func (f *fixture) threads(n int, at func(i int) *place, fn func(i int) error) {
	f.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if errs[i] = f.rt.SetCurrent(at(i).ctx); errs[i] != nil {
				return
			}
			errs[i] = fn(i)
			if err := f.rt.SetCurrent(0); err != nil && errs[i] == nil {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			f.Errorf("thread %d: %v", i, err)
		}
	}
}

func (f *fixture) inMain(int) *place { return f.main }

// give submits what q has, on the calling thread, where q's place is current.
func (q *queue) give() error {
	i, err := q.f.rt.Submit(q.at.ctx, q.stream, q.list)
	q.list.Reset()
	if err != nil {
		return fmt.Errorf("command %d: %w", i, err)
	}
	return nil
}

// count adds 1 to a word rounds times, in submissions of their own, and checks
// what came out. It calls nothing that ends the check, as that is another
// goroutine's.
func (q *queue) count(p cudart.DevicePtr, host []uint32, rounds int) error {
	add, one := q.at.functions["add32"], cudart.Dim3{X: 1, Y: 1, Z: 1}
	q.list.Fill(p, 0, 4, 1)
	for range rounds {
		q.list.Launch(add, one, one, 0, inout(p, 4), u32(1), u32(1))
		if err := q.give(); err != nil {
			return err
		}
	}
	q.list.CopyDtoH(hostOf(host), p, 4)
	if err := q.give(); err != nil {
		return err
	}
	if err := q.f.rt.SynchronizeStream(q.at.ctx, q.stream); err != nil {
		return err
	}
	if host[0] != uint32(rounds) {
		return fmt.Errorf("counted to %d, want %d", host[0], rounds)
	}
	return nil
}

// counters runs a count on each of n threads.
func (f *fixture) counters(n int, at func(i int) *place) {
	f.Helper()
	var qs []*queue
	var ps []cudart.DevicePtr
	host := f.words(n)
	for i := range n {
		q := f.queue(at(i))
		qs, ps = append(qs, q), append(ps, q.alloc(4))
		q.sync()
	}
	f.threads(n, at, func(i int) error { return qs[i].count(ps[i], host[i:i+1], 100) })
}

func threadStreams(f *fixture) { f.counters(8, f.inMain) }

func threadContexts(f *fixture) {
	f.counters(4, func(i int) *place {
		if i%2 == 1 {
			return f.twin
		}
		if i == 2 && f.far != nil {
			return f.far
		}
		return f.main
	})
}

// threadShared: the submissions come in some order, and none is lost.
func threadShared(f *fixture) {
	const n, rounds = 4, 100
	q, host := f.queue(f.main), f.words(1)
	p := q.alloc(4)
	q.fill32(p, 0, 1)
	q.submit()
	var lists []*queue
	for range n {
		own := f.queue(f.main) // for its list
		lists = append(lists, &queue{f: f, at: q.at, stream: q.stream, list: own.list})
	}
	add, one := f.main.functions["add32"], cudart.Dim3{X: 1, Y: 1, Z: 1}
	f.threads(n, f.inMain, func(i int) error {
		for range rounds {
			lists[i].list.Launch(add, one, one, 0, inout(p, 4), u32(1), u32(1))
			if err := lists[i].give(); err != nil {
				return err
			}
		}
		return nil
	})
	q.toHost(host, p)
	q.submit()
	q.sync()
	f.all(host, n*rounds)
}

// threadEvents: each of two threads continues where the other's stream was, a
// channel carrying the news that the record is submitted.
func threadEvents(f *fixture) {
	const rounds = 100
	qs := [2]*queue{f.queue(f.main), f.queue(f.main)}
	events := [2]cudart.Event{f.event(f.main), f.event(f.main)}
	p, host := qs[0].alloc(4), f.words(1)
	qs[0].fill32(p, 0, 1)
	qs[0].submit()
	qs[0].sync()
	turn := [2]chan bool{make(chan bool, 1), make(chan bool, 1)}
	turn[0] <- true
	add, one := f.main.functions["add32"], cudart.Dim3{X: 1, Y: 1, Z: 1}
	f.threads(2, f.inMain, func(i int) error {
		defer close(turn[1-i])
		for range rounds {
			if !<-turn[i] {
				return fmt.Errorf("the other thread failed")
			}
			qs[i].list.Wait(events[1-i])
			qs[i].list.Launch(add, one, one, 0, inout(p, 4), u32(1), u32(1))
			qs[i].list.Record(events[i])
			if err := qs[i].give(); err != nil {
				return err
			}
			turn[1-i] <- true
		}
		return nil
	})
	qs[1].toHost(host, p)
	qs[1].submit()
	qs[1].sync()
	f.all(host, 2*rounds)
}

func threadMake(f *fixture) {
	pool := f.pool(f.main)
	f.threads(4, f.inMain, func(int) error {
		rt, ctx := f.rt, f.main.ctx
		l, err := cudart.NewList(4096)
		if err != nil {
			return err
		}
		defer l.Close()
		for range 20 {
			s, err := rt.CreateStream(ctx)
			if err != nil {
				return err
			}
			e, err := rt.CreateEvent(ctx, false)
			if err != nil {
				return err
			}
			p, err := rt.Alloc(ctx, pool, 4096, s)
			if err != nil {
				return err
			}
			l.Reset()
			l.Fill(p, 1, 1, 4096)
			l.Record(e)
			l.Free(p)
			if _, err := rt.Submit(ctx, s, l); err != nil {
				return err
			}
			if err := rt.DestroyEvent(ctx, e); err != nil {
				return err
			}
			if err := rt.DestroyStream(ctx, s); err != nil {
				return err
			}
		}
		return rt.SynchronizeContext(ctx)
	})
}
