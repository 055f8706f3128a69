package actor

// standing is who stands in for a thread's loop: an actor in channel style that waits,
// and meanwhile serves those who come before it, from its own coroutine. So a hand-off
// to and fro between two actors takes one switch of coroutines each way, in place of two.
// Only what is simple is served so: functions that go on where they wait. All else is the
// loop's, which the actor goes back to.
type standing struct {
	by    *Stream // nil: nobody
	ended *Stream // whose function has returned meanwhile, or exits: the loop does the rest
}

// standIn serves others while s waits, and reports whether s may go on: it has been woken,
// and those who were woken before it have been served. Otherwise s yields to the loop.
func (t *Thread) standIn(s *Stream) bool {
	if t.stand.by != nil || !t.inOrder || !t.simple(s) || !t.nextIsSimple() {
		return false
	}
	s.running.Store(false)
	t.settle(s)
	t.stand.by = s
	for t.nextIsSimple() {
		n, _ := t.ready.pop()
		woken := n.ready.Swap(false)
		if n == s && woken {
			t.stand.by, t.current = nil, s
			s.running.Store(true)
			return true
		}
		if woken {
			t.resume(n)
			if n.exits || !n.co.alive() {
				t.stand.ended = n
				break
			}
		}
		t.settle(n)
	}
	return false
}

// nextIsSimple reports whether somebody is ready, the first of them can be served by who
// stands in, and the loop has nothing to do before that.
func (t *Thread) nextIsSimple() bool {
	return t.ready.len() > 0 && t.incoming.Load() == 0 && t.polls.len() == 0 && t.simple(t.ready.at(0))
}

// simple reports whether all that s's turn can do is to let its function go on.
func (t *Thread) simple(s *Stream) bool {
	return s.fn != nil && s.live && s.asks.Load() == 0 && s.mail.empty()
}

// relieve has the loop go on where somebody stood in for it, whose turn is settled already.
func (t *Thread) relieve() {
	n := t.stand.ended
	t.stand = standing{}
	if n == nil {
		return
	}
	if n.exits {
		n.exits = false
		t.resume(n) // does not come back: see afterGoexit
	}
	t.functionEnded(n)
	t.settle(n)
}
