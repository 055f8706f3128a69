package sim_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// small programs, explored in full.
var small = []struct {
	name    string
	streams int
	orders  int    // that differ
	flaws   []flaw // of which each is found
	run     func(out flaw) func(p *program) error
}{
	{"hand-off", 2, 2, []flaw{noWait, noSync}, handOff},
	{"write after read, two readers", 3, 20, []flaw{noWaitBefore, noWait}, writeAfterRead},
	{"pull", 3, 9, []flaw{noWait, noWaitBefore, noWaitBehind}, pull},
	{"free and reuse", 2, 12, []flaw{noWaitBefore}, freeAndReuse},
	{"ordered by the host", 3, 1, []flaw{noSync}, byHost},
	{"close with work in flight", 2, 6, []flaw{noSync}, closeInFlight},
}

const noWaitBehind flaw = 100

// handOff: launch, record; wait, launch, download.
func handOff(out flaw) func(p *program) error {
	return func(p *program) error {
		a, b, e, got := p.words(4), p.words(4), p.event(), p.pinned(4)
		p.on(0, func(l *cudart.List) { p.fill(l, a, 4, 7); l.Record(e) })
		p.on(1, func(l *cudart.List) {
			if out != noWait {
				l.Wait(e)
			}
			p.copy(l, b, a, 4)
			download(l, got, b)
		})
		if out != noSync {
			p.sync(1)
		}
		err := wrong(got, 7)
		p.sync(0)
		p.sync(1)
		return err
	}
}

// writeAfterRead: what two streams have read is written again by a third.
func writeAfterRead(out flaw) func(p *program) error {
	return func(p *program) error {
		a, written := p.words(4), p.event()
		got := [2][]uint32{p.pinned(4), p.pinned(4)}
		var read [2]cudart.Event
		p.on(2, func(l *cudart.List) { p.fill(l, a, 4, 7); l.Record(written) })
		for i := range 2 {
			read[i] = p.event()
			p.on(i, func(l *cudart.List) { l.Wait(written); download(l, got[i], a); l.Record(read[i]) })
		}
		p.on(2, func(l *cudart.List) {
			if out != noWaitBefore {
				l.Wait(read[0])
			}
			if out != noWait {
				l.Wait(read[1])
			}
			p.add(l, a, 4, 1)
		})
		for i := range 3 {
			p.sync(i)
		}
		return errors.Join(wrong(got[0], 7), wrong(got[1], 7))
	}
}

// pull: a copy on a stream of its own from memory that stream 1 wrote, to memory that
// stream 0 has read, and that it reads again.
func pull(out flaw) func(p *program) error {
	return func(p *program) error {
		to, from := p.words(4), p.words(4)
		before, after := p.pinned(4), p.pinned(4)
		written, read, copied := p.event(), p.event(), p.event()
		p.on(0, func(l *cudart.List) { p.fill(l, to, 4, 1); download(l, before, to); l.Record(read) })
		p.on(1, func(l *cudart.List) { p.fill(l, from, 4, 2); l.Record(written) })
		p.on(2, func(l *cudart.List) {
			if out != noWait {
				l.Wait(written)
			}
			if out != noWaitBefore {
				l.Wait(read)
			}
			l.CopyPeer(to, p.ctx, from, p.ctx, 16)
			l.Record(copied)
		})
		p.on(0, func(l *cudart.List) {
			if out != noWaitBehind {
				l.Wait(copied)
			}
			download(l, after, to)
		})
		for i := range 3 {
			p.sync(i)
		}
		return errors.Join(wrong(before, 1), wrong(after, 2))
	}
}

// freeAndReuse: memory that one stream uses is freed on another, and what is
// allocated there next may lie in the same place.
func freeAndReuse(out flaw) func(p *program) error {
	return func(p *program) error {
		a, used, got := p.words(4), p.event(), p.pinned(4)
		p.on(0, func(l *cudart.List) { p.fill(l, a, 4, 7); download(l, got, a); l.Record(used) })
		p.on(1, func(l *cudart.List) {
			if out != noWaitBefore {
				l.Wait(used)
			}
			l.Free(a)
		})
		b := must(p.rt.Alloc(p.ctx, p.pool, 16, p.streams[1]))
		p.on(1, func(l *cudart.List) { p.fill(l, b, 4, 8) })
		p.sync(0)
		p.sync(1)
		return wrong(got, 7)
	}
}

// byHost: two streams work on the same words, and the host has waited in between.
func byHost(out flaw) func(p *program) error {
	return func(p *program) error {
		a, b, e, f := p.words(4), p.words(4), p.event(), p.event()
		p.on(0, func(l *cudart.List) { p.fill(l, a, 4, 7); p.fill(l, b, 4, 7); l.Record(e) })
		if out != noSync {
			p.sync(0)
		}
		p.on(1, func(l *cudart.List) { p.add(l, a, 4, 1); l.Record(f) })
		p.on(2, func(l *cudart.List) { l.Wait(f); p.add(l, a, 4, 1) })
		p.sync(0)
		p.sync(2)
		if got := sim.Peek(p.rt, a, 1)[0]; got != 9 {
			return fmt.Errorf("%w: %d", errWrong, got)
		}
		return nil
	}
}

// closeInFlight: the host lets go of everything while a stream works, and waits first.
func closeInFlight(out flaw) func(p *program) error {
	return func(p *program) error {
		a, e, got := p.words(4), p.event(), p.pinned(4)
		p.on(0, func(l *cudart.List) { p.fill(l, a, 4, 7); l.Record(e) })
		p.on(1, func(l *cudart.List) { l.Wait(e); download(l, got, a) })
		check(p.rt.DestroyEvent(p.ctx, e))
		for _, s := range p.streams {
			check(p.rt.DestroyStream(p.ctx, s))
		}
		if out != noSync {
			check(p.rt.SynchronizeContext(p.ctx))
		}
		err := wrong(got, 7)
		check(p.rt.FreeHost(p.ctx, unsafe.Pointer(&got[0])))
		check(p.rt.SynchronizeContext(p.ctx))
		return err
	}
}

func TestExplore(t *testing.T) {
	for _, c := range small {
		t.Run(c.name, func(t *testing.T) {
			e, err := sim.Explore(sim.Exploration{}, func(rt cudart.Runtime) error { return run(rt, c.streams, c.run(none)) })
			if err != nil || !e.Complete || e.Runs != c.orders {
				t.Fatalf("%v, not %d: %v", e, c.orders, err)
			}
			t.Log(e)
			for _, out := range c.flaws {
				program := func(rt cudart.Runtime) error { return run(rt, c.streams, c.run(out)) }
				e, err := sim.Explore(sim.Exploration{}, program)
				var found *sim.Found
				if !errors.As(err, &found) {
					t.Errorf("flaw %d is not found: %v, %v", out, e, err)
					continue
				}
				t.Logf("flaw %d is found after %v, by %v", out, e, found.Schedule)
				rt := sim.New(sim.Config{Clock: sim.Replay(must(sim.ParseSchedule(found.Schedule.String())))})
				if again := program(rt); again == nil {
					t.Errorf("flaw %d does not show again by %v", out, found.Schedule)
				}
				check(rt.Close())
			}
		})
	}
}

// random is a program of a few commands on two or three streams that share three
// words, and what it leaves.
func random(seed uint64, note func(string)) (streams int, f func(p *program) error) {
	r := rand.New(rand.NewPCG(seed, 3))
	streams = 2 + r.IntN(2)
	type command struct{ kind, a, b, v int }
	type submission struct {
		stream   int
		query    bool
		commands []command
	}
	var parts []submission
	event := r.IntN(2)
	for range 2 + r.IntN(2) {
		s := submission{stream: r.IntN(streams), query: r.IntN(6) == 0}
		for range 1 + r.IntN(3) {
			s.commands = append(s.commands, command{r.IntN(8), r.IntN(3), r.IntN(3), 1 + r.IntN(9)})
		}
		parts = append(parts, s)
	}
	return streams, func(p *program) error {
		w := p.words(3)
		at := func(i int) cudart.DevicePtr { return w + cudart.DevicePtr(4*i) }
		got, e := p.pinned(1), [2]cudart.Event{p.event(), p.event()}
		said := ""
		for _, s := range parts {
			p.on(s.stream, func(l *cudart.List) {
				for _, c := range s.commands {
					switch c.kind {
					case 0:
						p.add(l, at(c.a), 1, uint32(c.v))
					case 1:
						p.copy(l, at(c.a), at(c.b), 1)
					case 2:
						l.CopyDtoD(at(c.a), at(c.b), 4)
					case 3:
						l.Fill(at(c.a), uint32(c.v), 4, 1)
					case 4, 5:
						l.Record(e[event])
					case 6:
						l.Wait(e[event])
					case 7:
						download(l, got, at(c.a))
					}
				}
			})
			if s.query {
				said += fmt.Sprint(must(p.rt.QueryEvent(e[event])), got[0], " ")
			}
		}
		for i := range p.streams {
			p.sync(i)
		}
		note(said + fmt.Sprint(got, sim.Peek(p.rt, w, 12)))
		return nil
	}
}

// Nothing that can happen is left out: what random programs can leave is the same as
// when every order is run.
func TestExploreLeavesNothingOut(t *testing.T) {
	seeds, most := 40, 400
	if testing.Short() {
		seeds = 10
	}
	tried, complete, reduced, cut, every, several := 0, 0, 0, 0, 0, 0
	for seed := uint64(0); tried < seeds; seed++ {
		outcomes := func(all bool, most int) (map[string]bool, sim.Explored) {
			left := map[string]bool{}
			streams, f := random(seed, func(s string) { left[s] = true })
			e, err := sim.Explore(sim.Exploration{All: all, Most: most}, func(rt cudart.Runtime) error { return run(rt, streams, f) })
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			return left, e
		}
		got, e := outcomes(false, most)
		if !e.Complete || e.Runs == 1 && tried > 5 {
			continue
		}
		want, all := outcomes(true, most)
		if all.Complete {
			complete++
			if !maps.Equal(got, want) {
				t.Fatalf("seed %d: %v leave\n%v\n%v leave\n%v", seed, e, text(got), all, text(want))
			}
		}
		streams, f := random(seed, func(s string) { want[s] = true })
		for walk := range uint64(50) {
			rt := sim.New(sim.Config{Clock: sim.Walk(walk)})
			check(run(rt, streams, f))
			check(rt.Close())
		}
		for o := range want {
			if !got[o] {
				t.Fatalf("seed %d: %v do not leave %s", seed, e, o)
			}
		}
		tried, reduced, cut, every = tried+1, reduced+e.Runs, cut+e.Cut, every+all.Runs
		if len(got) > 1 {
			several++
		}
	}
	t.Logf("%d programs, %d with several outcomes: %d runs and %d cut; every order of %d of them, in %d runs, and 50 walks through each leave nothing else",
		tried, several, reduced, cut, complete, every)
}

func text(m map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(m)), "\n") }

// A host that polls is explored too: it does not ask again before something is done.
func TestExploreAPollingHost(t *testing.T) {
	polled := func(out flaw) func(rt cudart.Runtime) error {
		return func(rt cudart.Runtime) error {
			return run(rt, 1, func(p *program) error {
				a, e, got := p.words(4), p.event(), p.pinned(4)
				p.on(0, func(l *cudart.List) {
					p.fill(l, a, 4, 7)
					if out == noWait {
						l.Record(e)
					}
					download(l, got, a)
					if out != noWait {
						l.Record(e)
					}
				})
				for !must(rt.QueryEvent(e)) {
				}
				return wrong(got, 7)
			})
		}
	}
	e, err := sim.Explore(sim.Exploration{}, polled(none))
	if err != nil || !e.Complete {
		t.Fatalf("%v: %v", e, err)
	}
	t.Log(e)
	if e, err := sim.Explore(sim.Exploration{}, polled(noWait)); !errors.Is(err, errWrong) {
		t.Errorf("an event recorded too early is not found: %v, %v", e, err)
	}
}

// What memory is allocated depends on what frees have run.
func TestExploreSeesWhereMemoryIsReused(t *testing.T) {
	again := map[bool]int{}
	e, err := sim.Explore(sim.Exploration{}, func(rt cudart.Runtime) error {
		return run(rt, 1, func(p *program) error {
			a := p.words(4)
			p.on(0, func(l *cudart.List) { l.Free(a) })
			b := must(rt.Alloc(p.ctx, p.pool, 16, p.streams[0]))
			p.sync(0)
			again[a == b]++
			return nil
		})
	})
	if t.Log(e, again); err != nil || again[true] == 0 || again[false] == 0 {
		t.Errorf("%v: %v", again, err)
	}
}

// A loss in the middle of another stream's command is an order like others: what it has
// cut off is no step that could be chosen.
func TestExploreGoesOnAfterALoss(t *testing.T) {
	for _, all := range []bool{false, true} {
		lost := 0
		e, err := sim.Explore(sim.Exploration{All: all}, func(rt cudart.Runtime) error {
			err := run(rt, 2, func(p *program) error {
				a, b := p.words(2), p.words(1)
				p.on(0, func(l *cudart.List) { l.Free(b); l.CopyDtoD(a, a+4, 4) })
				p.on(1, func(l *cudart.List) { l.CopyDtoD(b, a, 4) })
				p.sync(0)
				p.sync(1)
				return nil
			})
			if err != nil {
				lost++
			}
			return nil
		})
		if err != nil || !e.Complete || lost == 0 || lost == e.Runs {
			t.Errorf("all: %v: %v, %d lost: %v", all, e, lost, err)
		}
	}
}

// A program that is not the same each time cannot be explored, and that is said.
func TestExploreNoticesAProgramThatChanges(t *testing.T) {
	times := 0
	_, err := sim.Explore(sim.Exploration{}, func(rt cudart.Runtime) error {
		times++
		return run(rt, 2, func(p *program) error {
			a := p.words(4)
			for i := range 2 {
				p.on((i+times)%2, func(l *cudart.List) { p.add(l, a, 4, 1) })
			}
			p.sync(0)
			p.sync(1)
			return nil
		})
	})
	if err == nil || !strings.Contains(err.Error(), "not the same") {
		t.Errorf("%v", err)
	}
}
