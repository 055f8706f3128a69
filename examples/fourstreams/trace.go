package main

import (
	"cmp"
	"slices"
	"sync"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/device"
)

// tracer notes what the library gives to streams. It is a [device.Trace].
type tracer struct {
	mu       sync.Mutex
	seq      int
	next     map[string]string // by stream: the name of what it is given next
	commands []command
	waits    []wait
}

// command is a named effect in a stream; place is its order there.
type command struct {
	stream, name string
	place        place
}

// wait is a wait that the library added: what stream is given behind place comes
// after submission n of from.
type wait struct {
	stream string
	place  place
	from   string
	n      uint64
	why    string
}

// place orders what one stream is given: by submission, and inside of one as it
// was issued.
type place struct {
	n   uint64
	seq int
}

func (p place) compare(q place) int { return cmp.Or(cmp.Compare(p.n, q.n), cmp.Compare(p.seq, q.seq)) }

func newTracer() *tracer { return &tracer{next: map[string]string{}} }

// expect names the next effect that the stream's owner issues. What has no name
// is no event: the downloads at the end, say.
func (t *tracer) expect(stream, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next[stream] = name
}

// Command is part of [device.Trace].
func (t *tracer) Command(s *device.Stream, n uint64, op cudart.Op, _ string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := t.next[s.Name()]
	if op == cudart.OpCopyPeer {
		name = eventCopy // on the owner's behalf: the library issues it
	} else {
		delete(t.next, s.Name())
	}
	t.seq++
	t.commands = append(t.commands, command{s.Name(), name, place{n, t.seq}})
}

// Wait is part of [device.Trace].
func (t *tracer) Wait(s *device.Stream, n uint64, p device.Point, why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq++
	t.waits = append(t.waits, wait{s.Name(), place{n, t.seq}, p.Stream().Name(), p.Number(), why})
}

// streams are the names of all streams that were given anything, sorted.
func (t *tracer) streams() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for _, c := range t.commands {
		names = append(names, c.stream)
	}
	for _, w := range t.waits {
		names = append(names, w.stream, w.from)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// edge is one wait, said in events: before, of the stream to, came after the
// event after, of the stream from.
type edge struct {
	From   string `json:"from"`
	To     string `json:"to"`
	After  string `json:"after"`
	Before string `json:"before"`
	Why    string `json:"why"`
}

func (t *tracer) edges() []edge {
	t.mu.Lock()
	defer t.mu.Unlock()
	return edgesOf(t.commands, t.waits)
}

// edgesOf finds the events on both sides of each wait: the last one of the other
// stream that the wait covers, and the first one that comes behind it. Where there
// is none, its name is empty.
func edgesOf(commands []command, waits []wait) []edge {
	named := slices.DeleteFunc(slices.Clone(commands), func(c command) bool { return c.name == "" })
	slices.SortFunc(named, func(a, b command) int { return a.place.compare(b.place) })
	edges := make([]edge, 0, len(waits))
	for _, w := range waits {
		e := edge{From: w.from, To: w.stream, Why: w.why}
		for _, c := range named {
			if c.stream == w.from && c.place.n <= w.n {
				e.After = c.name
			}
			if c.stream == w.stream && e.Before == "" && c.place.compare(w.place) > 0 {
				e.Before = c.name
			}
		}
		edges = append(edges, e)
	}
	return edges
}
