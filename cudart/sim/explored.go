package sim

import "slices"

// What an explorer is told of the steps of a machine.

// past is what it knows of a stream: what each of its commands came after.
type past struct {
	given []given  // by submission
	done  []vclock // by command that has ended, from number 1
}

type given struct {
	upTo  uint64 // commands of the stream
	clock vclock // of the host, when it had submitted them
}

// submitted is what the host had done when it submitted a command.
func (s *past) submitted(number uint64) vclock {
	for _, g := range s.given {
		if number <= g.upTo {
			return g.clock
		}
	}
	return nil
}

// ended is what the end of a command came after.
func (s *past) ended(number uint64) vclock {
	if number == 0 || number > uint64(len(s.done)) {
		return nil
	}
	return s.done[number-1]
}

// explore makes a choice as the explorer has it.
func (x *Steps) explore(p point, call string) (i int) {
	ex := x.explorer
	ex.settle(call != "" && call != "await") // behind a submission or a query is a turn before the host's own code
	x.learn()
	actors := make([]int, len(x.may))
	for k, l := range x.may {
		if l != nil {
			actors[k] = l.actor()
		}
	}
	actor := ex.choose(sorted(actors))
	i = max(slices.Index(actors, actor), 0)
	if len(actors) > 1 {
		x.taken.note(x.place(who), i)
	}
	if actor == 0 {
		var after vclock
		if p.stream != nil {
			after = p.stream.resolver.track.past.ended(p.number)
		}
		ex.did(0, ofCall(call), after, true)
	}
	return i
}

// learn notes what the host has submitted by its latest step.
func (x *Steps) learn() {
	ex := x.explorer
	if len(ex.last) == 0 || ex.last[0] < 0 {
		return
	}
	x.news.Lock()
	defer x.news.Unlock()
	for _, l := range x.born {
		l.stream.mu.Lock()
		n := l.stream.submitted
		l.stream.mu.Unlock()
		if k := len(l.past.given); k == 0 && n > 0 || k > 0 && l.past.given[k-1].upTo < n {
			l.past.given = append(l.past.given, given{n, ex.steps[ex.last[0]].clock})
		}
	}
}

func (l *track) actor() int { return int(l.stream.born) + 1 }

// number is that of the command at the head.
func (l *track) number() uint64 { return l.stream.before + uint64(l.stream.at) + 1 }

// passes notes the end of a command that is no step.
func (l *track) passes(it *item) {
	if l.steps.explorer == nil {
		return
	}
	var v vclock
	v.join(l.before())
	if t := it.wait.stream; t != nil && t != l.stream {
		v.join(t.resolver.track.past.ended(it.wait.number))
	}
	l.past.done = append(l.past.done, v)
}

// before is what a command comes after because it was submitted, and where.
func (l *track) before() vclock {
	var v vclock
	v.join(l.past.ended(l.number() - 1))
	v.join(l.past.submitted(l.number()))
	return v
}

// tell tells the explorer of a step.
func (l *track) tell(x *explorer, does footprint, done bool, lost *loss) {
	if lost != nil {
		does.everything()
	}
	does.ends = does.ends || done
	var clock vclock
	if !x.over && !x.asleep {
		clock = x.did(l.actor(), does, l.before(), false)
	}
	if done {
		l.past.done = append(l.past.done, clock)
	}
}
