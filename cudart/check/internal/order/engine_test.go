package order

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// world is an engine with two contexts, and what it reported.
type world struct {
	*Engine
	d0, d1 *Context
	got    []string
}

func newWorld(o Options) *world {
	w := &world{}
	o.Report = func(r Report) {
		s := fmt.Sprintf("%v %s", r.Kind, r.First.Op)
		if r.Second != nil {
			s += " " + r.Second.Op
		}
		if r.Buffer != nil {
			s += fmt.Sprintf(" %s:%d+%d", r.Buffer.Name, r.Off, r.Bytes)
		}
		w.got = append(w.got, s)
	}
	w.Engine = New(o)
	w.d0, w.d1 = w.NewContext("device 0"), w.NewContext("device 1")
	return w
}

func (w *world) stream(name string) *Stream { return w.d0.NewStream(name, NonBlocking) }

// r and w are kernels that read and write a whole buffer.
func (w *world) r(s *Stream, label string, b *Buffer) { w.Run(s, Note{Op: label}, b.All(Read)) }
func (w *world) w(s *Stream, label string, b *Buffer) { w.Run(s, Note{Op: label}, b.All(Write)) }

func (w *world) record(s *Stream, ev *Event) { w.Record(s, Note{Op: "record"}, ev) }
func (w *world) wait(s *Stream, ev *Event)   { w.Wait(s, Note{Op: "wait"}, ev) }

func (w *world) edge(from, to *Stream) {
	ev := from.ctx.NewEvent("edge")
	w.record(from, ev)
	w.wait(to, ev)
}

// TestEngine has a program for each rule that keeps it, and one that does not.
func TestEngine(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(w *world, a, b *Stream, x *Buffer)
		want string
	}{
		{"one stream is in order", func(w *world, a, b *Stream, x *Buffer) { w.w(a, "1", x); w.w(a, "2", x) }, ""},
		{"two streams are not", func(w *world, a, b *Stream, x *Buffer) { w.w(a, "1", x); w.r(b, "2", x) }, "race 1 2 x:0+100"},
		{"reads need no order", func(w *world, a, b *Stream, x *Buffer) { w.r(a, "1", x); w.r(b, "2", x) }, ""},
		{"a write after a read does", func(w *world, a, b *Stream, x *Buffer) { w.r(a, "1", x); w.w(b, "2", x) }, "race 1 2 x:0+100"},
		{"an edge", func(w *world, a, b *Stream, x *Buffer) { w.w(a, "1", x); w.edge(a, b); w.w(b, "2", x) }, ""},
		{"an edge from before", func(w *world, a, b *Stream, x *Buffer) { w.edge(a, b); w.w(a, "1", x); w.w(b, "2", x) }, "race 1 2 x:0+100"},
		{"an edge through a third", func(w *world, a, b *Stream, x *Buffer) {
			c := w.stream("c")
			w.w(a, "1", x)
			w.edge(a, c)
			w.edge(c, b)
			w.w(b, "2", x)
		}, ""},
		{"a record again moves no wait", func(w *world, a, b *Stream, x *Buffer) {
			ev := w.d0.NewEvent("e")
			w.record(a, ev)
			w.wait(b, ev)
			w.w(a, "1", x)
			w.record(a, ev)
			w.r(b, "2", x)
		}, "race 1 2 x:0+100"},
		{"a covered wait keeps what it covers", func(w *world, a, b *Stream, x *Buffer) {
			c := w.stream("c")
			w.w(c, "1", x)
			w.edge(c, a)
			early := w.d0.NewEvent("early")
			w.record(a, early)
			w.edge(a, b)
			w.wait(b, early)
			w.w(b, "2", x)
		}, ""},
		{"a wait for an event never recorded", func(w *world, a, b *Stream, x *Buffer) { w.wait(a, w.d0.NewEvent("e")) }, "unrecorded-wait wait"},
		{"a query of one", func(w *world, a, b *Stream, x *Buffer) { w.Query(Note{Op: "query"}, w.d0.NewEvent("e")).Passed() }, "unrecorded-wait query"},
		{"another context's event is recorded", func(w *world, a, b *Stream, x *Buffer) {
			ev := w.d1.NewEvent("e")
			w.w(a, "1", x)
			w.record(a, ev)
			w.wait(b, ev)
			w.r(b, "2", x)
		}, "wrong-context record; unrecorded-wait wait; race 1 2 x:0+100"},
		{"another context's event is waited for", func(w *world, a, b *Stream, x *Buffer) {
			f := w.d1.NewStream("f", NonBlocking)
			w.w(f, "1", x)
			w.edge(f, b)
			w.w(b, "2", x)
		}, ""},
		{"a destroyed event", func(w *world, a, b *Stream, x *Buffer) {
			ev := w.d0.NewEvent("e")
			w.w(a, "1", x)
			w.record(a, ev)
			w.Destroy(Note{Op: "destroy"}, ev)
			w.wait(b, ev)
			w.record(a, ev)
			w.Query(Note{Op: "query"}, ev).Passed()
			w.Destroy(Note{Op: "again"}, ev)
			w.r(b, "2", x)
		}, "bad-handle wait; bad-handle record; bad-handle query; bad-handle again; race 1 2 x:0+100"},
		{"a wait before the destruction holds", func(w *world, a, b *Stream, x *Buffer) {
			ev := w.d0.NewEvent("e")
			w.w(a, "1", x)
			w.record(a, ev)
			w.wait(b, ev)
			w.Destroy(Note{Op: "destroy"}, ev)
			w.r(b, "2", x)
		}, ""},
		{"the host synchronises", func(w *world, a, b *Stream, x *Buffer) { w.w(a, "1", x); a.Now().Passed(); w.w(b, "2", x) }, ""},
		{"with something else", func(w *world, a, b *Stream, x *Buffer) {
			w.w(a, "1", x)
			w.stream("c").Now().Passed()
			w.w(b, "2", x)
		}, "race 1 2 x:0+100"},
		{"with what was there when it began", func(w *world, a, b *Stream, x *Buffer) {
			m := a.Now()
			w.w(a, "1", x)
			m.Passed()
			w.w(b, "2", x)
		}, "race 1 2 x:0+100"},
		{"what it synchronises with comes after another", func(w *world, a, b *Stream, x *Buffer) {
			w.w(a, "1", x)
			w.edge(a, b)
			b.Now().Passed()
			w.w(w.stream("c"), "2", x)
		}, ""},
		{"with a context", func(w *world, a, b *Stream, x *Buffer) {
			w.w(a, "1", x)
			a.End()
			w.r(b, "2", x)
			w.d0.Now().Passed()
			w.w(w.stream("c"), "3", x)
		}, "race 1 2 x:0+100"},
		{"with another context", func(w *world, a, b *Stream, x *Buffer) {
			w.w(a, "1", x)
			w.d1.Now().Passed()
			w.w(b, "2", x)
		}, "race 1 2 x:0+100"},
		{"a query", func(w *world, a, b *Stream, x *Buffer) {
			ev := w.d0.NewEvent("e")
			w.w(a, "1", x)
			w.record(a, ev)
			w.w(a, "2", x)
			w.Query(Note{Op: "query"}, ev).Passed()
			w.r(b, "3", x)
		}, "race 2 3 x:0+100"},
		{"the host reads too early", func(w *world, a, b *Stream, x *Buffer) {
			w.w(a, "1", x)
			w.Host(Note{Op: "2"}, x.At(5, 1, Read))
		}, "race 1 2 x:5+1"},
		{"the host reads beside", func(w *world, a, b *Stream, x *Buffer) { w.r(a, "1", x); w.Host(Note{Op: "2"}, x.All(Read)) }, ""},
		{"the host overwrites", func(w *world, a, b *Stream, x *Buffer) { w.r(a, "1", x); w.Host(Note{Op: "2"}, x.All(Write)) }, "race 1 2 x:0+100"},
		{"what the host does comes before", func(w *world, a, b *Stream, x *Buffer) { w.Host(Note{Op: "1"}, x.All(Write)); w.w(a, "2", x) }, ""},
		{"use after free", func(w *world, a, b *Stream, x *Buffer) { w.Free(a, Note{Op: "1"}, x); w.r(a, "2", x) }, "use-after-free 1 2 x:0+100"},
		{"also where the host knows", func(w *world, a, b *Stream, x *Buffer) {
			w.Free(a, Note{Op: "1"}, x)
			a.Now().Passed()
			w.r(b, "2", x)
		}, "use-after-free 1 2 x:0+100"},
		{"a free that is not ordered", func(w *world, a, b *Stream, x *Buffer) { w.r(a, "1", x); w.Free(b, Note{Op: "2"}, x); w.r(a, "3", x) },
			"race 1 2 x:0+100; race 2 3 x:0+100"},
		{"a second free", func(w *world, a, b *Stream, x *Buffer) {
			w.Free(a, Note{Op: "1"}, x)
			w.Free(a, Note{Op: "2"}, x)
			w.Free(b, Note{Op: "3"}, x)
		}, "use-after-free 1 2 x:0+100; race 1 3 x:0+100; race 2 3 x:0+100"},
		{"the host frees", func(w *world, a, b *Stream, x *Buffer) {
			w.r(a, "1", x)
			w.Host(Note{Op: "2"}, x.All(Free))
			w.r(a, "3", x)
		}, "race 1 2 x:0+100; use-after-free 2 3 x:0+100"},
		{"used before it is allocated", func(w *world, a, b *Stream, x *Buffer) {
			y := w.Alloc(a, Note{Op: "1"}, "y", 10)
			w.r(a, "2", y)
			w.r(b, "3", y)
		}, "race 1 3 y:0+10"},
		{"parts that do not overlap", func(w *world, a, b *Stream, x *Buffer) {
			w.Run(a, Note{Op: "1"}, x.At(0, 50, Write))
			w.Run(b, Note{Op: "2"}, x.At(50, 50, Write))
		}, ""},
		{"parts that do, by a byte", func(w *world, a, b *Stream, x *Buffer) {
			w.Run(a, Note{Op: "1"}, x.At(0, 51, Write))
			w.Run(b, Note{Op: "2"}, x.At(50, 50, Write))
		}, "race 1 2 x:50+1"},
		{"parts of parts", func(w *world, a, b *Stream, x *Buffer) {
			w.Run(a, Note{Op: "1"}, x.At(0, 10, Write))
			w.Run(a, Note{Op: "2"}, x.At(20, 10, Write))
			w.Run(a, Note{Op: "3"}, x.At(40, 10, Write))
			w.Run(b, Note{Op: "4"}, x.At(5, 40, Write))
		}, "race 1 4 x:5+5; race 2 4 x:20+10; race 3 4 x:40+5"},
		{"every pair, once", func(w *world, a, b *Stream, x *Buffer) {
			w.w(a, "1", x)
			w.w(a, "2", x)
			w.Run(b, Note{Op: "3"}, x.At(0, 10, Read), x.At(20, 10, Write))
			w.r(b, "4", x)
		}, "race 1 3 x:0+10; race 2 3 x:0+10; race 1 4 x:0+100; race 2 4 x:0+100"},
		{"a command does not race with itself", func(w *world, a, b *Stream, x *Buffer) {
			w.Run(a, Note{Op: "1"}, x.All(Read), x.At(0, 50, Write))
		}, ""},
		{"the legacy stream comes after blocking ones", func(w *world, a, b *Stream, x *Buffer) {
			l, s := w.d0.Legacy("legacy"), w.d0.NewStream("s", Blocking)
			w.w(s, "1", x)
			w.w(l, "2", x)
			w.w(s, "3", x)
			w.w(a, "4", x)
		}, "race 1 4 x:0+100; race 2 4 x:0+100; race 3 4 x:0+100"},
		{"blocking streams are ordered by it alone", func(w *world, a, b *Stream, x *Buffer) {
			l, s, u := w.d0.Legacy("legacy"), w.d0.NewStream("s", Blocking), w.d0.NewStream("u", Blocking)
			w.w(s, "1", x)
			w.w(u, "2", x)
			w.Run(l, Note{Op: "nothing"})
			w.w(u, "3", x)
		}, "race 1 2 x:0+100"},
		{"and not another context's", func(w *world, a, b *Stream, x *Buffer) {
			w.w(w.d1.NewStream("s", Blocking), "1", x)
			w.w(w.d0.Legacy("legacy"), "2", x)
		}, "race 1 2 x:0+100"},
		{"a blocking stream that has ended", func(w *world, a, b *Stream, x *Buffer) {
			l, s, u := w.d0.Legacy("legacy"), w.d0.NewStream("s", Blocking), w.d0.NewStream("u", Blocking)
			w.Run(l, Note{Op: "nothing"})
			w.w(s, "1", x)
			s.End()
			w.r(u, "2", x)
			w.r(l, "3", x)
		}, "race 1 2 x:0+100"},
		{"synchronising with the legacy stream", func(w *world, a, b *Stream, x *Buffer) {
			l, s := w.d0.Legacy("legacy"), w.d0.NewStream("s", Blocking)
			w.w(s, "1", x)
			l.Now().Passed()
			w.w(a, "2", x)
		}, ""},
		{"synchronising with a blocking stream", func(w *world, a, b *Stream, x *Buffer) {
			l, s := w.d0.Legacy("legacy"), w.d0.NewStream("s", Blocking)
			w.w(l, "1", x)
			s.Now().Passed()
			w.w(a, "2", x)
		}, "race 1 2 x:0+100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(Options{})
			c.run(w, w.stream("a"), w.stream("b"), w.NewBuffer("x", 100))
			if got := strings.Join(w.got, "; "); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestHistoryBoundsWhatIsKept: without the host, the accesses of a stream that are
// remembered are bounded, and a race is still seen.
func TestHistoryBoundsWhatIsKept(t *testing.T) {
	w := newWorld(Options{History: 3})
	a, b, x := w.stream("a"), w.stream("b"), w.NewBuffer("x", 100)
	for i := range 100 {
		w.w(a, fmt.Sprint("w", i), x)
		w.r(a, fmt.Sprint("r", i), x)
	}
	for _, l := range x.parts[0].lanes {
		if len(l.had) != 3 {
			t.Errorf("%d accesses are remembered where 3 may be", len(l.had))
		}
	}
	w.r(b, "r", x)
	want := []string{"race w97 r x:0+100", "race w98 r x:0+100", "race w99 r x:0+100"}
	if !slices.Equal(w.got, want) {
		t.Errorf("got %q, want %q", w.got, want)
	}
}

// TestForgetsWhatTheHostKnows: O2, O5.
func TestForgetsWhatTheHostKnows(t *testing.T) {
	w := newWorld(Options{})
	x, last := w.NewBuffer("x", 1000), w.stream("last")
	for i := range 1000 {
		s := w.stream("s")
		w.Run(s, Note{}, x.At(uint64(i%10), 100, Write))
		w.edge(s, last)
		w.Run(last, Note{}, x.At(500, uint64(1+i%10), Write))
		s.End()
		if i%10 == 9 {
			last.Now().Passed()
		}
		if len(x.parts) > 40 || len(last.after) > 20 || len(w.d0.ended) > 20 || len(w.d0.streams) != 1 {
			t.Fatalf("round %d: %d parts, clocks of %d and %d, %d streams", i, len(x.parts), len(last.after), len(w.d0.ended), len(w.d0.streams))
		}
	}
	w.Host(Note{}, x.All(Write))
	if len(x.parts) != 0 {
		t.Errorf("%d parts are left of what is complete", len(x.parts))
	}
}
