package cudarttest

import (
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

var eventChecks = []check{
	{"is done before its first record", eventUnrecorded},
	{"does not hold a wait before its first record", eventUnrecordedWait},
	{"is done when what it captured is", eventQuery},
	{"captures nothing behind it", eventBehind},
	{"holds a wait", eventWait},
	{"holds the waits of several streams", eventFanOut},
	{"a stream waits for several", eventFanIn},
	{"orders long chains", eventChain},
	{"a re-record does not move an earlier wait", eventRerecord},
	{"a wait is for the latest record", eventLatest},
	{"a query is for the latest record", eventLatestQuery},
	{"a stream may wait for itself", eventSelf},
	{"may be destroyed while waited for", eventDestroy},
	{"is waited for in another context", eventAcrossWait},
	{"is not recorded in another context", eventAcrossRecord},
	{"is queried in another context", eventAcrossQuery},
	{"times work", eventElapsed},
	{"has no time until it is done", eventElapsedPending},
	{"has no time without timing", eventElapsedUntimed},
	{"has no time before its first record", eventElapsedUnrecorded},
}

func eventUnrecorded(f *fixture) {
	if !f.done(f.event(f.main)) {
		f.Error("an event without timing, never recorded, is not done")
	}
	if !f.done(f.timer(f.main)) {
		f.Error("an event with timing, never recorded, is not done")
	}
}

// eventUnrecordedWait: also not when the record comes after the wait.
func eventUnrecordedWait(f *fixture) {
	q1, q2, g, e := f.queue(f.main), f.queue(f.main), f.gate(), f.event(f.main)
	q2.wait(e)
	q2.submit()
	g.hold(q1)
	q1.record(e)
	q1.submit()
	q2.launch("idle", 1)
	q2.submit()
	q2.sync()
	f.pending(e, "the held record")
	g.open()
}

func eventQuery(f *fixture) {
	q, g, e := f.queue(f.main), f.gate(), f.event(f.main)
	g.hold(q)
	q.record(e)
	q.submit()
	f.pending(e, "a record behind the gate")
	g.open()
	f.await(e, "a record behind an open gate")
	q.sync()
	if !f.done(e) {
		f.Error("done, and then not")
	}
}

func eventBehind(f *fixture) {
	q, g, before, after := f.queue(f.main), f.gate(), f.event(f.main), f.event(f.main)
	q.launch("idle", 1)
	q.record(before)
	g.hold(q)
	q.record(after)
	q.submit()
	f.await(before, "a record in front of the gate")
	f.pending(after, "a record behind the gate")
	g.open()
}

func eventWait(f *fixture) {
	q1, q2, g, e, read := f.queue(f.main), f.queue(f.main), f.gate(), f.event(f.main), f.event(f.main)
	p, host := q1.alloc(4), f.words(1)
	q1.fill32(p, 1, 1)
	q1.submit()
	q1.sync()
	g.hold(q1)
	q1.fill32(p, 2, 1)
	q1.record(e)
	q1.submit()
	q2.wait(e)
	q2.toHost(host, p)
	q2.record(read)
	q2.submit()
	f.pending(read, "a copy that waits")
	g.open()
	f.await(read, "a copy that waited")
	f.all(host, 2)
}

func eventFanOut(f *fixture) {
	const readers = 4
	q, g, e := f.queue(f.main), f.gate(), f.event(f.main)
	p, host := q.alloc(4), f.words(readers)
	var qs []*queue
	var ends []cudart.Event
	for range readers {
		qs, ends = append(qs, f.queue(f.main)), append(ends, f.event(f.main))
	}
	q.fill32(p, 1, 1)
	q.submit()
	q.sync()
	g.hold(q)
	q.fill32(p, 2, 1)
	q.record(e)
	q.submit()
	for i, r := range qs {
		r.wait(e)
		r.toHost(host[i:i+1], p)
		r.record(ends[i])
		r.submit()
	}
	for _, end := range ends {
		f.pending(end, "a reader")
	}
	g.open()
	for _, r := range qs {
		r.sync()
	}
	f.all(host, 2)
}

func eventFanIn(f *fixture) {
	q, end := f.queue(f.main), f.event(f.main)
	var gates []*gate
	var events []cudart.Event
	for range 3 {
		gates, events = append(gates, f.gate()), append(events, f.event(f.main))
	}
	writers := []*queue{f.queue(f.main), f.queue(f.main), f.queue(f.main)}
	for i, w := range writers {
		gates[i].hold(w)
		w.record(events[i])
		w.submit()
		q.wait(events[i])
	}
	q.record(end)
	q.submit()
	for _, i := range []int{1, 2, 0} {
		f.pending(end, "a stream that waits for three")
		gates[i].open()
		f.await(events[i], "what was held")
	}
	f.await(end, "a stream that waited for three")
}

// eventChain passes a number around streams, each hop through an event that is
// recorded again and again.
func eventChain(f *fixture) {
	const hops = 200
	var ring []*queue
	var events []cudart.Event
	for range 3 {
		ring, events = append(ring, f.queue(f.main)), append(events, f.event(f.main))
	}
	p, host := ring[0].alloc(4), f.words(1)
	ring[0].fill32(p, 0, 1)
	for i := range hops {
		q, next := ring[i%3], ring[(i+1)%3]
		q.add32(p, 1, 1)
		q.record(events[i%3])
		q.submit()
		next.wait(events[i%3])
	}
	last := ring[hops%3]
	last.toHost(host, p)
	last.submit()
	last.sync()
	f.all(host, hops)
}

func eventRerecord(f *fixture) {
	q1, q2, q3 := f.queue(f.main), f.queue(f.main), f.queue(f.main)
	first, second := f.gate(), f.gate()
	e, end := f.event(f.main), f.event(f.main)
	first.hold(q1)
	q1.record(e)
	q1.submit()
	q2.wait(e)
	q2.record(end)
	q2.submit()
	second.hold(q3)
	q3.record(e)
	q3.submit()
	f.pending(end, "a wait for the first record")
	first.open()
	f.await(end, "a wait for the first record")
	f.pending(e, "the second record")
	second.open()
}

func eventLatest(f *fixture) {
	q1, q2, q3 := f.queue(f.main), f.queue(f.main), f.queue(f.main)
	first, second := f.gate(), f.gate()
	e, end := f.event(f.main), f.event(f.main)
	second.hold(q3)
	q3.record(e)
	q3.submit()
	first.hold(q1)
	q1.record(e)
	q1.submit()
	q2.wait(e)
	q2.record(end)
	q2.submit()
	f.pending(end, "a wait for the latest record")
	first.open()
	f.await(end, "a wait for the latest record, with an earlier one held")
	second.open()
}

func eventLatestQuery(f *fixture) {
	q1, q2, g, e := f.queue(f.main), f.queue(f.main), f.gate(), f.event(f.main)
	q1.record(e)
	q1.submit()
	f.await(e, "the first record")
	g.hold(q2)
	q2.record(e)
	q2.submit()
	f.pending(e, "the second record")
	q1.record(e)
	q1.submit()
	f.await(e, "the third record, with the second held")
	g.open()
}

func eventSelf(f *fixture) {
	q, e := f.queue(f.main), f.event(f.main)
	p, host := q.alloc(4), f.words(1)
	q.wait(e)
	q.fill32(p, 1, 1)
	q.record(e)
	q.wait(e)
	q.add32(p, 1, 1)
	q.record(e)
	q.wait(e)
	q.toHost(host, p)
	q.submit()
	q.sync()
	f.all(host, 2)
}

func eventDestroy(f *fixture) {
	q1, q2, g, e, end := f.queue(f.main), f.queue(f.main), f.gate(), f.event(f.main), f.event(f.main)
	g.hold(q1)
	q1.record(e)
	q1.submit()
	q2.wait(e)
	q2.record(end)
	q2.submit()
	f.destroyEvent(e)
	// A new event, which may well get the memory of the old one, is another.
	fresh := f.event(f.main)
	if !f.done(fresh) {
		f.Error("a new event is not done")
	}
	q1.record(fresh)
	q1.submit()
	f.pending(end, "a wait for a destroyed event")
	g.open()
	f.await(end, "a wait for a destroyed event")
}

func eventAcrossWait(f *fixture) {
	for _, p := range f.pairs() {
		q1, q2, g, e, end := f.queue(p.from), f.queue(p.to), f.gate(), f.event(p.from), f.event(p.to)
		// Both contexts run something first, so that nothing is made behind the gate.
		for _, q := range []*queue{q1, q2} {
			q.launch("idle", 1)
			q.submit()
			q.sync()
		}
		g.hold(q1)
		q1.record(e)
		q1.submit()
		q2.wait(e)
		q2.record(end)
		q2.submit()
		f.pending(end, "a wait "+p.name)
		g.open()
		f.await(end, "a wait "+p.name)
	}
}

func eventAcrossRecord(f *fixture) {
	for _, p := range f.pairs() {
		q, e := f.queue(p.to), f.event(p.from)
		q.record(e)
		i, err := q.try()
		if i != 0 {
			f.Errorf("a record %s: command %d refused, want 0", p.name, i)
		}
		f.refused(err, "a record "+p.name, cudart.ErrInvalidHandle)
		if !f.done(e) {
			f.Errorf("a refused record %s left the event pending", p.name)
		}
	}
}

func eventAcrossQuery(f *fixture) {
	for _, p := range f.pairs() {
		q, g, e := f.queue(p.from), f.gate(), f.event(p.from)
		g.hold(q)
		q.record(e)
		q.submit()
		f.use(p.to)
		f.pending(e, "an event queried "+p.name)
		g.open()
		f.use(p.to)
		f.await(e, "an event queried "+p.name)
	}
}

func eventElapsed(f *fixture) {
	const work = 3 * time.Millisecond
	q, start, end := f.queue(f.main), f.timer(f.main), f.timer(f.main)
	q.launch("idle", 1)
	q.submit()
	q.sync()
	from := f.rt.Now()
	q.record(start)
	q.launch("busy", 1, u64(uint64(work)))
	q.record(end)
	q.submit()
	q.sync()
	host := f.rt.Now() - from
	got, err := f.rt.Elapsed(start, end)
	f.ok(err, "Elapsed")
	// Two clocks, and the device's may tick in microseconds.
	if got < work*9/10 || got > host+time.Millisecond {
		f.Errorf("work of %v took %v, in a wait of %v", work, got, host)
	}
	if same, err := f.rt.Elapsed(start, start); err != nil || same != 0 {
		f.Errorf("from a record to itself: %v, %v", same, err)
	}
}

func eventElapsedPending(f *fixture) {
	q, g, start, end := f.queue(f.main), f.gate(), f.timer(f.main), f.timer(f.main)
	q.record(start)
	g.hold(q)
	q.record(end)
	q.submit()
	f.await(start, "the first record")
	_, err := f.rt.Elapsed(start, end)
	f.refused(err, "Elapsed to a pending record", cudart.ErrNotReady)
	g.open()
	q.sync()
	if d, err := f.rt.Elapsed(start, end); err != nil || d < 0 {
		f.Errorf("Elapsed: %v, %v", d, err)
	}
}

func eventElapsedUntimed(f *fixture) {
	q, timed, untimed := f.queue(f.main), f.timer(f.main), f.event(f.main)
	q.record(timed)
	q.record(untimed)
	q.submit()
	q.sync()
	_, err := f.rt.Elapsed(timed, untimed)
	f.refused(err, "Elapsed to an event without timing", cudart.ErrInvalidHandle)
	_, err = f.rt.Elapsed(untimed, timed)
	f.refused(err, "Elapsed from an event without timing", cudart.ErrInvalidHandle)
}

func eventElapsedUnrecorded(f *fixture) {
	q, e, never := f.queue(f.main), f.timer(f.main), f.timer(f.main)
	q.record(e)
	q.submit()
	q.sync()
	_, err := f.rt.Elapsed(e, never)
	f.refused(err, "Elapsed to an event never recorded", cudart.ErrInvalidHandle)
}
