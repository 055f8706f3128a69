package actor

import "github.com/gpuactor/gpuactor/device"

// Task is work that another actor asks to be done on this one's stream: the
// message behind a transfer. It runs on the actor's thread, between its own
// turns, or on the asker's, and must not block.
type Task interface {
	// Run does the work on the stream on; cur is the device whose context is
	// current on the thread that runs it.
	Run(on *device.Stream, cur *device.Device) error
}

// request is one task on its way, and back.
type request struct {
	task Task
	from *Stream
	on   *Stream
	done bool
	err  error
}

// Do has a task done on another actor's stream, and returns when it is: in the
// usual case at once. Where that actor is not running, the calling thread does it
// on its behalf; where it is, the task is a message, and s is suspended until it
// has been served.
func (s *Stream) Do(on *Ref, task Task) error {
	if err := s.check(); err != nil {
		return err
	}
	to := on.s
	if to == s || !to.running.Load() {
		if to.isGone() {
			return ErrStopped
		}
		return task.Run(to.cuda, s.cuda.Device())
	}
	r := &s.asked
	*r = request{task: task, from: s, on: to}
	if !to.ask(r) {
		return ErrStopped
	}
	if _, err := s.cuda.Flush(false); err != nil {
		s.sys.log.Error("actor: commands were refused", "actor", s.name, "error", err)
	}
	for {
		s.mu.Lock()
		done := r.done
		s.mu.Unlock()
		if done {
			return r.err
		}
		// The context is not watched: the request is on its way and will be
		// answered, also by an actor that ends.
		s.park()
	}
}

func (s *Stream) isGone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.gone
}

func (s *Stream) ask(r *request) bool {
	s.mu.Lock()
	if s.gone {
		s.mu.Unlock()
		return false
	}
	s.tasks.push(r)
	s.asks.Add(1)
	s.mu.Unlock()
	s.schedule()
	return true
}

// runTasks serves the requests of others.
func (s *Stream) runTasks() {
	for {
		r := s.nextTask()
		if r == nil {
			return
		}
		r.answer(r.task.Run(s.cuda, s.cuda.Device()))
	}
}

func (s *Stream) nextTask() *request {
	if s.asks.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.tasks.pop()
	if ok {
		s.asks.Add(-1)
	}
	return r
}

func (s *Stream) refuseTasks() {
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	for r := s.nextTask(); r != nil; r = s.nextTask() {
		r.answer(ErrStopped)
	}
}

func (r *request) answer(err error) {
	from := r.from
	from.mu.Lock()
	r.done, r.err = true, err
	from.mu.Unlock()
	from.unpark()
}
