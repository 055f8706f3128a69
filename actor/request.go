package actor

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/buffer"
)

// Request sends a message from an ordinary goroutine, as [System.Send] does, and
// waits for the answer until ctx ends. Pinned memory in the answer is the
// goroutine's; device memory needs a stream, and such an answer is released and an
// error, [buffer.ErrNoStream]. A handler that fails answers with [*HandlerFailed], and
// an actor that ends without handling the message with [ErrNoActor]. One that
// handles it and never responds is waited for until ctx ends; what it carries in an
// answer after that is released.
func (sys *System) Request(ctx context.Context, to *PID, message any) (any, error) {
	w := waiter{ch: make(chan struct{}, 1)}
	q := sys.inquire(to, &w)
	if err := sys.send(ctx, to, message, q.envelope(message)); err != nil {
		q.close()
		return nil, err
	}
	if !q.look() && q.waits() {
		_ = w.await(ctx) // what there is then is the answer, or nothing
	}
	answer, ok := q.close()
	if !ok {
		return nil, context.Cause(ctx)
	}
	if err := q.failure(answer); err != nil {
		return nil, err
	}
	var hs buffer.Handles
	if err := collect(answer, &hs); err != nil {
		return nil, err
	}
	if err := buffer.TakeHere(&hs); err != nil {
		sys.reclaimed.Add(int64(buffer.Drop(&hs)))
		return nil, fmt.Errorf("actor: the answer of %s, a %T: %w", pidName(to), answer, err)
	}
	return answer, nil
}

// Ask is [System.Request] for a stream actor: it suspends s until the answer is
// there, or s's context ends. What the answer carries is s's. Two actors that ask
// each other at the same time wait until one of them is stopped.
func (s *Stream) Ask(to *PID, message any) (any, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if to != nil && to.Equal(s.ref.pid) {
		return nil, fmt.Errorf("actor: %s asks itself, and could not answer before it has the answer", s.name)
	}
	q := s.sys.inquire(to, &s.wait)
	q.waiting = true
	if err := s.send(to, message, q.envelope(message)); err != nil {
		q.close()
		return nil, err
	}
	s.asksFor = q
	for !q.answered() && s.cause() == nil {
		s.park()
	}
	s.asksFor = nil
	answer, ok := q.close()
	if !ok {
		return nil, s.cause()
	}
	if err := q.failure(answer); err != nil {
		return nil, err
	}
	return answer, s.receive(answer)
}

// inquiry is where the answer of one request arrives: a process of protoactor's,
// registered until its asker goes on.
type inquiry struct {
	sys  *System
	pid  *PID
	to   *PID
	wait *waiter

	mu      sync.Mutex
	waiting bool // the asker is to be woken; until then it looks itself
	done    bool // answered, or nobody waits any more
	got     bool
	answer  any

	there atomic.Bool // got, to be seen without mu
}

// introduction has a PID remember its process, so that an answer which comes when
// the process is no longer registered still reaches it, and is released there.
type introduction struct{}

func (sys *System) inquire(to *PID, w *waiter) *inquiry {
	q := &inquiry{sys: sys, to: to, wait: w}
	registry := sys.root.ProcessRegistry
	q.pid, _ = registry.Add(q, "request"+registry.NextId())
	sys.root.Root.Send(q.pid, introduction{})
	return q
}

func (q *inquiry) envelope(message any) any {
	return &proto.MessageEnvelope{Message: message, Sender: q.pid}
}

// askSpin is how long an ordinary goroutine looks for its answer before it blocks: for
// two OS threads to wake each other takes as long.
const askSpin = 16 * time.Microsecond

// look looks for the answer of a stream actor for a while, and reports whether it came.
func (q *inquiry) look() bool {
	s := q.sys.byPID(q.to)
	if s == nil || q.sys.policy == Frugal {
		return false
	}
	if spinners.Add(1) > q.sys.maySpin {
		spinners.Add(-1)
		return false
	}
	defer spinners.Add(-1)
	if s.t.sleep.Load() == parked {
		// Its goroutine, which we have made ready, is the next one of our processor,
		// and would be looked for there by others only after 50 µs.
		runtime.Gosched()
	}
	start := time.Now()
	for i := 1; !q.there.Load(); i++ {
		if i%16 == 0 && time.Since(start) > askSpin {
			return false
		}
	}
	return true
}

// waits has the asker be woken, and reports whether there is something to wait for.
func (q *inquiry) waits() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = !q.done
	return q.waiting
}

// woke reports whether an ordinary goroutine has been woken for the answer.
func (q *inquiry) woke() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting && q.wait.ch != nil
}

// notGiven is an answer whose buffers were not its sender's to give.
type notGiven struct{ err error }

// SendUserMessage is part of protoactor's Process. It runs on the goroutine of
// whoever answers.
func (q *inquiry) SendUserMessage(_ *PID, message any) {
	_, content, _ := proto.UnwrapEnvelope(message)
	if _, ok := content.(introduction); ok {
		return
	}
	if err := q.sys.handOver(content); err != nil {
		q.sys.log.Error("actor: an answer was not sent: its buffers are not the sender's to give", "of", pidName(q.to), "error", err)
		q.sys.root.DeadLetter.SendUserMessage(q.pid, content)
		content = notGiven{err}
	}
	q.deliver(content)
}

// SendSystemMessage is part of protoactor's Process.
func (q *inquiry) SendSystemMessage(*PID, any) {}

// Stop is part of protoactor's Process.
func (q *inquiry) Stop(*PID) {}

// deliver takes an answer whose buffers have been handed over.
func (q *inquiry) deliver(content any) {
	q.mu.Lock()
	late, waiting := q.done, q.waiting
	if !late {
		q.done, q.got, q.answer = true, true, content
		q.there.Store(true)
	}
	q.mu.Unlock()
	if !late {
		if waiting {
			q.wait.wake()
		}
		return
	}
	var hs buffer.Handles
	if collect(content, &hs) == nil && hs.Len() > 0 {
		q.sys.reclaimed.Add(int64(buffer.Drop(&hs)))
	}
	q.sys.root.DeadLetter.SendUserMessage(q.pid, content)
}

func (q *inquiry) answered() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.got
}

// close ends the wait, and reports the answer where there is one.
func (q *inquiry) close() (any, bool) {
	q.sys.root.ProcessRegistry.Remove(q.pid)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.done = true
	return q.answer, q.got
}

// failure is the error that an answer stands for.
func (q *inquiry) failure(answer any) error {
	switch a := answer.(type) {
	case *HandlerFailed:
		return a
	case notGiven:
		return fmt.Errorf("actor: %s answered with buffers that are not its own: %w", pidName(q.to), a.err)
	case *proto.DeadLetterResponse:
		if _, _, err := q.sys.find(q.to); err != nil {
			return err
		}
		return fmt.Errorf("%w that takes the message: %s", ErrNoActor, pidName(q.to))
	}
	return nil
}

// watchSends sees what a handler sends by protoactor's own calls, a Respond among them.
func (s *Stream) watchSends(next proto.SenderFunc) proto.SenderFunc {
	return func(c proto.SenderContext, to *PID, e *proto.MessageEnvelope) {
		if s.isPeer(to) {
			next(c, to, e) // a stream actor: any message may go there, and its thread sees to it
			return
		}
		process, ok := s.sys.root.ProcessRegistry.Get(to) // now: who has its answer is gone
		if ok && s.refuses(to, process, e) {
			return
		}
		next(c, to, e)
		if q, asked := process.(*inquiry); ok && (!asked || q.woke()) {
			s.t.gaveWork.Store(true)
		}
	}
}

// refuses keeps back a message with buffers for somebody who is no stream actor: they
// would stay the sender's, and look to everybody as if they had been given.
func (s *Stream) refuses(to *PID, process proto.Process, e *proto.MessageEnvelope) bool {
	if carriesNone(e.Message) {
		return false
	}
	if _, asked := process.(*inquiry); asked {
		return false
	}
	var hs buffer.Handles
	err := carries(to, process, nil, e.Message, &hs)
	if err != nil {
		s.sys.log.Error("actor: a message was not sent: its buffers are still its sender's", "from", s.name, "to", pidName(to), "error", err)
		s.sys.root.DeadLetter.SendUserMessage(to, e)
	}
	return err != nil
}

// isPeer reports whether a PID is a stream actor's. The last one that was is known by
// its address.
func (s *Stream) isPeer(p *PID) bool {
	if p != nil && s.peer.Load() == p {
		return true
	}
	if s.sys.byPID(p) == nil {
		return false
	}
	s.peer.Store(p)
	return true
}
