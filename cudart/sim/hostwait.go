package sim

// hostWait is a host thread that waits for a stream.
type hostWait struct {
	number uint64
	over   bool
	at     int64
}

// tell wakes the host threads whose wait is over.
func (v *virtual) tell(c *course, t int64) {
	if len(c.waits) == 0 {
		return
	}
	done := c.s.progress.done.Load()
	rest := c.waits[:0]
	for _, w := range c.waits {
		if w.number > done {
			rest = append(rest, w)
			continue
		}
		w.over, w.at = true, t
		v.waiting--
	}
	clear(c.waits[len(rest):])
	c.waits = rest
	v.changed.Broadcast()
}

// await blocks the calling thread until n commands of s are done.
func (v *virtual) await(s *stream, n uint64) {
	l := v.lane()
	v.mu.Lock()
	if s.progress.done.Load() >= n {
		at := s.course.free
		v.mu.Unlock()
		l.lift(at)
		return
	}
	w := v.newWait()
	*w = hostWait{number: n}
	s.course.waits = append(s.course.waits, w)
	v.waiting++
	v.run()
	for !w.over {
		v.changed.Wait()
	}
	at := w.at
	v.idle = append(v.idle, w)
	v.mu.Unlock()
	l.lift(at + int64(v.top.Wake))
}

func (v *virtual) newWait() *hostWait {
	last := len(v.idle) - 1
	if last < 0 {
		return &hostWait{}
	}
	w := v.idle[last]
	v.idle = v.idle[:last]
	return w
}

// driveTo lets everything happen that happens until t, and says when the next thing
// does: never is math.MaxInt64.
func (v *virtual) driveTo(t int64) (next int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for {
		next = v.agenda.first()
		if len(v.fresh) == 0 && v.busy == nil && next > t {
			return next
		}
		v.until = max(v.until, t)
		v.run()
		v.changed.Wait()
	}
}

// lastOf is when the last command of a stream that is done was done: by then everything is
// that is done of it.
func (v *virtual) lastOf(s *stream) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return s.course.free
}
