package sim

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// Steps is a clock that lets one thing happen at a time: a step of one stream, or
// a piece of the host's program between two calls. What happens next is a choice.
type Steps struct {
	sim      *simulator
	picks    picker
	halves   bool      // commands are two steps, begin and end, whatever is picked
	explorer *explorer // makes the choices instead, where it is not nil

	ticks atomic.Int64 // microseconds

	mu      sync.Mutex // who holds it has the device
	tracks  []*track   // streams with something to do, by number
	runs    []*track   // scratch: those that can make a step
	may     []*track   // scratch: who may go on; nil is the host
	made    uint64     // steps
	turns   int        // turns of the host
	choices int        // in this turn
	taken   Schedule   // what was chosen
	trace   Trace
	asked   point  // of the latest query, which was in vain
	askedAt uint64 // steps made by then

	news  sync.Mutex // a leaf, guards what is below
	fresh []*track   // became ready, not in tracks yet
	born  []*track   // all that there ever were
}

// picker makes the choices.
type picker interface {
	// pick chooses one of n, at least 2, at a place. What the calmest device does
	// is 0.
	pick(x *Steps, at place, n int) int
}

// place is where in a run a choice is made: the nth choice of a turn.
type place struct {
	turn, nth int
	what      question
}

type question uint8

const (
	who     question = iota // goes on
	shape                   // of a command: how it is torn
	patient                 // of a query in vain: 0 brings it nearer
)

func newSteps(p picker) *Steps { return &Steps{picks: p} }

func (x *Steps) drive(r *simulator) executor {
	if x.sim != nil {
		panic("sim: a clock was given to two machines")
	}
	x.sim = r
	r.exact = x.halves
	return x
}

func (x *Steps) now() time.Duration { return time.Duration(x.ticks.Load()) * time.Microsecond }

func (x *Steps) attach(s *stream) {
	l := &track{steps: x, stream: s}
	s.resolver.track = l
	x.news.Lock()
	x.born = append(x.born, l)
	x.news.Unlock()
	s.work = func() { // as ready calls it
		x.news.Lock()
		x.fresh = append(x.fresh, l)
		x.news.Unlock()
	}
}

func (x *Steps) ready(s *stream) { s.work() }

// turn is where the host might go on, and the device might be faster.
func (x *Steps) turn(call string, e *event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ticks.Add(1)
	x.begin()
	x.until(point{}, call, e)
}

// begin is a turn's beginning: the host may have changed what spinning kernels see.
func (x *Steps) begin() {
	x.turns++
	x.choices = 0
	x.wakeSpinners()
}

func (x *Steps) await(s *stream, n uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begin()
	x.until(point{s, n}, "await", nil)
}

// until makes steps until p is done and the host goes on.
func (x *Steps) until(p point, call string, e *event) {
	var on *track // a stream that was forced to go on, and does so until it cannot
	for idle := 0; ; {
		x.find(p)
		host := p.done() || x.sim.lost.Load() != nil
		if x.halves && len(x.runs) > 0 && x.asksAgain(e) {
			host = false
		}
		x.order(host, on)
		if len(x.may) == 0 { // kernels that wait for somebody else, or another thread's work
			x.rest(idle)
			idle++
			continue
		}
		i := 0
		if x.explorer != nil {
			i = x.explore(p, call)
		} else {
			i = x.choose(who, len(x.may))
		}
		l := x.may[i]
		if l == nil {
			return
		}
		if i > 0 || l == on {
			on = l
		} else {
			on = nil
		}
		x.step(l)
	}
}

// order is who may go on, what the calmest device has first: a stream that was forced
// to, the host, what it waits for, the others.
func (x *Steps) order(host bool, on *track) {
	x.may = x.may[:0]
	if on != nil && slices.Contains(x.runs, on) {
		x.may = append(x.may, on)
	}
	if host {
		x.may = append(x.may, nil)
	}
	for _, l := range x.runs {
		if l != on {
			x.may = append(x.may, l)
		}
	}
}

// rest lets other threads have the device.
func (x *Steps) rest(times int) {
	x.mu.Unlock()
	if times < 64 {
		runtime.Gosched()
	} else {
		time.Sleep(20 * time.Microsecond)
	}
	x.mu.Lock()
	x.wakeSpinners()
}

func (x *Steps) wakeSpinners() {
	for _, l := range x.tracks {
		l.spun = false
	}
}

// vain brings what a query asked for in vain nearer. Most are not patient for ever.
func (x *Steps) vain(p point, polls uint) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked, x.askedAt = p, x.made
	if x.halves {
		return // choices are made at turns only
	}
	if polls%16 != 0 && x.choose(patient, 2) != 0 {
		return
	}
	x.find(p)
	if len(x.runs) > 0 {
		x.step(x.runs[0])
	}
}

// asksAgain is that a query was in vain, and is made again with nothing done since.
func (x *Steps) asksAgain(e *event) bool {
	return e != nil && x.asked.stream != nil && x.askedAt == x.made && e.latest() == x.asked
}

// choose asks for a choice, where there is one, and notes what it is.
func (x *Steps) choose(what question, n int) int {
	if n < 2 {
		return 0
	}
	at := x.place(what)
	i := x.picks.pick(x, at, n)
	x.taken.note(at, i)
	return i
}

// place is that of the next choice.
func (x *Steps) place(what question) place {
	x.choices++
	return place{x.turns, x.choices - 1, what}
}

// find puts into runs the tracks that can make a step, what p needs first.
func (x *Steps) find(p point) {
	x.admit()
	for again := true; again; { // a wait passed over may end another one
		again = false
		x.tracks = slices.DeleteFunc(x.tracks, func(l *track) bool {
			gone, moved := l.settle()
			again = again || moved
			return gone
		})
	}
	x.runs = x.runs[:0]
	for _, l := range x.tracks {
		if !l.held && !l.spun {
			x.runs = append(x.runs, l)
		}
	}
	if i := slices.Index(x.runs, x.needed(p)); i > 0 {
		l := x.runs[i]
		copy(x.runs[1:], x.runs[:i])
		x.runs[0] = l
	}
}

// admit takes in the streams that became ready.
func (x *Steps) admit() {
	x.news.Lock()
	defer x.news.Unlock()
	if len(x.fresh) == 0 {
		return
	}
	for _, l := range x.fresh {
		l.spun = false
		x.tracks = append(x.tracks, l)
	}
	x.fresh = x.fresh[:0]
	slices.SortFunc(x.tracks, func(a, b *track) int { return byNumber(a.stream, b.stream) })
}

// needed is the track that has to do something before p is done.
func (x *Steps) needed(p point) *track {
	for range len(x.tracks) + 1 { // waits form no circle (I2)
		i := slices.IndexFunc(x.tracks, func(l *track) bool { return l.stream == p.stream })
		if p.done() || i < 0 {
			return nil
		}
		l := x.tracks[i]
		if !l.held {
			return l
		}
		p = l.stream.head().wait
	}
	return nil
}

// step makes a step of a track.
func (x *Steps) step(l *track) {
	x.ticks.Add(1)
	x.made++
	l.step()
	for _, o := range x.tracks { // what they look at may have changed
		if o != l {
			o.spun = false
		}
	}
}

// close ends the kernels that wait, and drops what is queued.
func (x *Steps) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.find(point{})
	for _, l := range x.tracks {
		l.end()
	}
	x.find(point{})
}

// note notes a step in the trace.
func (x *Steps) note(l *track, op cudart.Op, number uint64, piece, of int) {
	x.trace.add(Step{Stream: int(l.stream.born), Command: number, Op: op, Piece: piece, Of: of})
}
