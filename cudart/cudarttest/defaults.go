package cudarttest

import "github.com/gpuactor/gpuactor/cudart"

// Of the runtimes that have blocking streams and the legacy default stream. Not to
// wait where one must not is as much of it as to wait.
var defaultsChecks = []check{
	{"a legacy command comes after blocking streams", legacyAfterBlocking},
	{"a blocking stream's command comes after the legacy stream", blockingAfterLegacy},
	{"non-blocking streams have no part in it", legacyNotNonBlocking},
	{"blocking streams have none in each other", blockingIndependent},
	{"the legacy stream orders blocking streams", throughLegacy},
	{"a wait on the legacy stream orders blocking streams", waitThroughLegacy},
	{"a wait for nothing orders nothing", unrecordedOnLegacy},
	{"a record captures what the legacy stream comes after", recordOnLegacy},
	{"contexts have one each", legacyOfContexts},
	{"a destroyed blocking stream still counts", blockingDestroyed},
	{"the legacy stream is not destroyed", legacyStays},
	{"synchronizing the legacy stream", legacySync},
}

// defaults is the runtime's default streams; a check ends where it has none.
func (f *fixture) defaults() cudart.DefaultStreams {
	d, ok := f.rt.(cudart.DefaultStreams)
	if !ok {
		f.Skip("the runtime has no default streams")
	}
	return d
}

func (f *fixture) blocking(p *place) *queue {
	f.Helper()
	d := f.defaults()
	f.use(p)
	s, err := d.CreateBlockingStream(p.ctx)
	f.ok(err, "CreateBlockingStream")
	return f.queueOf(p, s)
}

// legacy is a queue of the legacy stream, which the fixture does not destroy.
func (f *fixture) legacy(p *place) *queue {
	f.Helper()
	d := f.defaults()
	f.use(p)
	s := d.LegacyStream(p.ctx)
	if s == 0 || d.LegacyStream(p.ctx) != s {
		f.Fatal("no legacy stream, or two")
	}
	q := f.queueOf(p, s)
	f.Cleanup(func() { q.list.Close(); q.stream = 0 }) // before the fixture's own
	return q
}

func (f *fixture) queueOf(p *place, s cudart.Stream) *queue {
	f.Helper()
	l, err := cudart.NewList(1 << 16)
	f.ok(err, "NewList")
	q := &queue{f: f, at: p, stream: s, list: l}
	f.queues = append(f.queues, q)
	return q
}

// end launches an empty kernel and records an event behind it.
func (q *queue) end() cudart.Event {
	q.f.Helper()
	e := q.f.event(q.at)
	q.launch("idle", 1)
	q.record(e)
	q.submit()
	return e
}

func legacyAfterBlocking(f *fixture) {
	a, b, legacy, g := f.blocking(f.main), f.blocking(f.main), f.legacy(f.main), f.gate()
	a.end()
	g.hold(b)
	f.holds(g, legacy.end(), "the legacy stream's command")
}

func blockingAfterLegacy(f *fixture) {
	b, legacy, g := f.blocking(f.main), f.legacy(f.main), f.gate()
	g.hold(legacy)
	f.holds(g, b.end(), "the blocking stream's command")
}

// holds states that the event waits for the gate, and opens that.
func (f *fixture) holds(g *gate, e cudart.Event, what string) {
	f.Helper()
	f.pending(e, what)
	g.open()
	f.await(e, what)
}

// passes states that the event does not wait for the gate, and opens that.
func (f *fixture) passes(g *gate, e cudart.Event, what string) {
	f.Helper()
	f.await(e, what)
	g.open()
}

func legacyNotNonBlocking(f *fixture) {
	q, legacy, g, h := f.queue(f.main), f.legacy(f.main), f.gate(), f.gate()
	g.hold(q)
	f.passes(g, legacy.end(), "the legacy stream's command")
	h.hold(legacy)
	f.passes(h, q.end(), "the non-blocking stream's command")
}

func blockingIndependent(f *fixture) {
	a, b, g := f.blocking(f.main), f.blocking(f.main), f.gate()
	f.legacy(f.main).end()
	g.hold(a)
	f.passes(g, b.end(), "the other blocking stream's command")
}

func throughLegacy(f *fixture) {
	a, b, legacy, g := f.blocking(f.main), f.blocking(f.main), f.legacy(f.main), f.gate()
	g.hold(a)
	legacy.launch("idle", 1)
	legacy.submit()
	f.holds(g, b.end(), "what comes behind the legacy stream's command")
}

func waitThroughLegacy(f *fixture) {
	q, b, legacy, g := f.queue(f.main), f.blocking(f.main), f.legacy(f.main), f.gate()
	g.hold(q)
	e := q.end()
	legacy.wait(e)
	legacy.submit()
	f.holds(g, b.end(), "what comes behind the legacy stream's wait")
}

func unrecordedOnLegacy(f *fixture) {
	a, b, legacy, g, e := f.blocking(f.main), f.blocking(f.main), f.legacy(f.main), f.gate(), f.event(f.main)
	g.hold(a)
	legacy.wait(e)
	legacy.submit()
	f.passes(g, b.end(), "what comes behind a wait for an event never recorded")
}

// recordOnLegacy: the record is the legacy stream's only command.
func recordOnLegacy(f *fixture) {
	q, b, legacy, g, e := f.queue(f.main), f.blocking(f.main), f.legacy(f.main), f.gate(), f.event(f.main)
	g.hold(b)
	legacy.record(e)
	legacy.submit()
	q.wait(e)
	f.holds(g, q.end(), "what waits for the legacy stream's record")
}

func legacyOfContexts(f *fixture) {
	b, legacy, g := f.blocking(f.twin), f.legacy(f.main), f.gate()
	g.hold(legacy)
	f.passes(g, b.end(), "another context's blocking stream")
	h := f.gate()
	h.hold(b)
	f.passes(h, legacy.end(), "the legacy stream")
}

func blockingDestroyed(f *fixture) {
	b, legacy, g := f.blocking(f.main), f.legacy(f.main), f.gate()
	g.hold(b)
	b.destroy()
	f.holds(g, legacy.end(), "the legacy stream's command")
}

func legacyStays(f *fixture) {
	legacy := f.legacy(f.main)
	f.refused(f.rt.DestroyStream(f.main.ctx, legacy.stream), "DestroyStream of the legacy stream", cudart.ErrInvalidHandle)
	f.await(legacy.end(), "the legacy stream")
	if s := f.defaults().LegacyStream(0); s != 0 {
		f.Errorf("no context has the legacy stream %#x", s)
	}
}

// legacySync: it waits for the blocking streams, also where it was given nothing.
func legacySync(f *fixture) {
	q, b, legacy, g := f.queue(f.main), f.blocking(f.main), f.legacy(f.main), f.gate()
	g.hold(q)
	p, host := b.alloc(4), f.words(1)
	for i := range uint32(50) {
		b.fill32(p, i, 1)
	}
	b.toHost(host, p)
	b.submit()
	legacy.sync()
	f.all(host, 49)
	g.open()
}
