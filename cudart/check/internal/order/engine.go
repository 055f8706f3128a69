package order

import "slices"

// History is how many accesses of a kind by one stream to the same bytes are remembered,
// where the options do not say.
const History = 64

// Options of an [Engine].
type Options struct {
	// Report is told of each thing that is wrong, from the call that issues it, those of
	// one command by the Seq of First.
	Report func(Report)
	// History is how many accesses of a kind (reads, writes) by one stream to the same
	// bytes are remembered until the host knows them complete; 0 is [History]. Older ones
	// are forgotten (O2): no race is missed as such, only pairs with those.
	History int
}

// Engine follows one process. Its methods, and those of what it makes, are for one
// goroutine at a time.
type Engine struct {
	o       Options
	streams uint64 // ids
	seq     uint64
	found   []Report // of the command in hand
}

// New is an engine that knows of nothing yet.
func New(o Options) *Engine {
	if o.History <= 0 {
		o.History = History
	}
	return &Engine{o: o}
}

// Access is what a command does to a range of a buffer.
type Access struct {
	Buffer     *Buffer
	Off, Bytes uint64 // no bytes are no access; what is behind the end is left out
	Act        Act    // Read or Write
}

// All is an access to the whole buffer.
func (b *Buffer) All(a Act) Access { return Access{Buffer: b, Bytes: b.Bytes, Act: a} }

// At is an access to a part of the buffer.
func (b *Buffer) At(off, bytes uint64, a Act) Access { return Access{b, off, bytes, a} }

// Run is a command that touches memory: a kernel, a copy, a fill. Its accesses never
// race with each other.
func (e *Engine) Run(s *Stream, n Note, accesses ...Access) {
	c := e.command(s.next(), n)
	for _, a := range accesses {
		e.touch(c, a)
	}
	e.tell()
}

// Alloc is a stream-ordered allocation of a new buffer.
func (e *Engine) Alloc(s *Stream, n Note, name string, bytes uint64) *Buffer {
	b := e.NewBuffer(name, bytes)
	e.Run(s, n, b.All(Allocate))
	return b
}

// Free is a stream-ordered free.
func (e *Engine) Free(s *Stream, n Note, b *Buffer) { e.Run(s, n, b.All(Free)) }

// Host is the CPU that reads or writes pinned memory, or, with the act Free, frees it.
func (e *Engine) Host(n Note, a Access) {
	e.touch(e.command(tick{}, n), a)
	e.tell()
}

func (e *Engine) command(t tick, n Note) *Command {
	e.seq++
	return &Command{Note: n, Stream: t.s, N: t.n, Seq: e.seq}
}

// pair notes that c, and an access issued earlier, are wrong together.
func (e *Engine) pair(k Kind, first *access, second *access, b *Buffer) {
	if first.cmd.paired == second.cmd.Seq {
		return // O3
	}
	first.cmd.paired = second.cmd.Seq
	from, to := max(first.from, second.from), min(first.to, second.to)
	e.found = append(e.found, Report{
		Kind: k, First: first.cmd, Second: second.cmd, Buffer: b,
		Off: from, Bytes: to - from, FirstA: first.act, SecondA: second.act,
	})
}

// tell reports what was found of one command.
func (e *Engine) tell() {
	if len(e.found) == 0 {
		return
	}
	slices.SortFunc(e.found, func(a, b Report) int { return int(a.First.Seq) - int(b.First.Seq) })
	for _, r := range e.found {
		e.o.Report(r)
	}
	clear(e.found)
	e.found = e.found[:0]
}

// after reports whether c comes after t.
func (c *Command) after(t tick) bool {
	if c.Stream == nil {
		return t.known()
	}
	return c.Stream.comesAfter(t)
}
