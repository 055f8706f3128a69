package sim

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
)

// defaults are the streams of a context that are ordered with each other without an
// event: the legacy default stream, and the blocking ones. A command on the legacy
// stream comes after all that the blocking ones were given, and the other way round.
// As everywhere here a wait points at work submitted before it (I2): who reads how much
// a stream was given reads what is queued already, so two threads that submit to
// the legacy stream and to a blocking one at once never wait for each other.
type defaults struct {
	mu       sync.Mutex
	legacy   *stream // nil until somebody asks for it
	handle   cudart.Stream
	blocking []*stream // with those destroyed that are not done
}

// member is what a stream of the defaults has beyond other streams.
type member struct {
	of     *defaults
	legacy bool
	issued atomic.Uint64 // commands queued, for whoever does not hold the stream's mu
	gone   atomic.Bool   // destroyed: nothing more will be queued
}

// others are the streams that one of the defaults comes after.
func (d *defaults) others(s *stream) []*stream {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case s.member.legacy:
		d.blocking = slices.DeleteFunc(d.blocking, func(b *stream) bool { return b.member.gone.Load() && b.given().done() })
		return slices.Clone(d.blocking)
	case d.legacy != nil:
		return []*stream{d.legacy}
	}
	return nil
}

// given is all that a stream of the defaults has been given.
func (s *stream) given() point { return point{s, s.member.issued.Load()} }

// comeBehind puts the waits in front of a command that the defaults demand. The caller
// holds mu, and has found nothing to refuse: a command that is not queued orders nothing.
func (s *stream) comeBehind() {
	if s.member == nil {
		return
	}
	for _, t := range s.member.of.others(s) {
		if p := t.given(); s.sim.exact && p.number > 0 || !p.done() {
			s.push(item{op: cudart.OpWait, wait: p}, nil)
		}
	}
}

// announce tells the other defaults of what has been queued. The caller holds mu.
func (s *stream) announce() {
	if s.member != nil {
		s.member.issued.Store(s.submitted)
	}
}

// queue is push for a command of the program.
func (s *stream) queue(it item, words []uint64) {
	s.comeBehind()
	s.push(it, words)
}

// awaitOthers blocks until what the legacy stream comes after is done, where s is that.
func (s *stream) awaitOthers() {
	if s.member == nil || !s.member.legacy {
		return
	}
	for _, t := range s.member.of.others(s) {
		t.await()
	}
}

// CreateBlockingStream implements [cudart.DefaultStreams].
func (r *simulator) CreateBlockingStream(ctx cudart.Context) (cudart.Stream, error) {
	h, err := r.CreateStream(ctx)
	if err != nil {
		return 0, err
	}
	s := r.streamTable.get(uintptr(h))
	d := &s.ctx.defaults
	d.mu.Lock()
	defer d.mu.Unlock()
	s.member = &member{of: d}
	d.blocking = append(d.blocking, s)
	return h, nil
}

// LegacyStream implements [cudart.DefaultStreams]. A context's is made when it is first
// asked for.
func (r *simulator) LegacyStream(ctx cudart.Context) cudart.Stream {
	c := r.contextTable.get(uintptr(ctx))
	if c == nil {
		return 0
	}
	d := &c.defaults
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.legacy == nil {
		h, s := r.addStream(c)
		if h == 0 {
			return 0
		}
		s.member = &member{of: d, legacy: true}
		d.legacy, d.handle = s, h
	}
	return d.handle
}
