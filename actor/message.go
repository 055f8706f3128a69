package actor

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/buffer"
)

// mailboxBound is how many messages may be queued at a stream actor before
// [Stream.Send] and [System.Send] wait. protoactor's own Send does not wait, since
// it can neither fail nor be cancelled.
const mailboxBound = 1024

// Send sends a message to any actor of the system, and hands over the buffers that
// it carries (see [buffer.Carrier]; plain fields are found). What is pending is
// submitted first. It waits where a stream actor's mailbox is full, until s's
// context ends. On an error the buffers are still the caller's.
func (s *Stream) Send(to *PID, message any) error {
	return s.send(to, message, message)
}

// Request is Send, with s's actor as the one to respond to.
func (s *Stream) Request(to *PID, message any) error {
	return s.send(to, message, &proto.MessageEnvelope{Message: message, Sender: s.ref.pid})
}

func (s *Stream) send(to *PID, message, envelope any) error {
	if err := s.check(); err != nil {
		return err
	}
	process, mail, err := s.sys.find(to)
	if err != nil {
		return err
	}
	s.handles.Reset()
	if err := collect(message, &s.handles); err != nil {
		return err
	}
	if s.handles.Len() > 0 && mail == nil {
		return fmt.Errorf("actor: %s carries buffers, and %s is not a stream actor: %w", reflect.TypeOf(message), to.Id, buffer.ErrNoStream)
	}
	if err := s.credit(mail); err != nil {
		return err
	}
	if err := s.handOver(); err != nil {
		return err
	}
	process.SendUserMessage(to, envelope)
	return nil
}

// handOver gives away what s.handles lists, behind everything that s has issued.
func (s *Stream) handOver() error {
	if s.handles.Len() == 0 {
		return nil
	}
	if err := buffer.CanGive(s.owner, &s.handles); err != nil {
		return err
	}
	p, err := s.cuda.Flush(buffer.Ordered(&s.handles))
	if err != nil {
		return err
	}
	buffer.Give(s.owner, &s.handles, p)
	return nil
}

// credit waits until the mailbox is below its bound.
func (s *Stream) credit(m *mailbox) error {
	if m == nil || m == s.mail { // to oneself: waiting would be for ever
		return nil
	}
	for {
		m.mu.Lock()
		if m.closed {
			next := m.senders.leave(&s.wait)
			m.mu.Unlock()
			next.wakeFrom(nil)
			return ErrNoActor
		}
		if m.user.len() < mailboxBound {
			if s.wait.q == &m.senders {
				m.senders.remove(&s.wait)
			}
			m.mu.Unlock()
			return nil
		}
		m.senders.add(&s.wait)
		m.mu.Unlock()
		if _, err := s.cuda.Flush(false); err != nil {
			return err
		}
		if err := s.cause(); err != nil {
			m.mu.Lock()
			next := m.senders.leave(&s.wait)
			m.mu.Unlock()
			next.wakeFrom(nil)
			return err
		}
		s.park()
	}
}

// Send sends a message from an ordinary goroutine, which has no stream and so can
// pass on pinned memory and plain values only. It waits where a stream actor's
// mailbox is full, until ctx ends.
func (sys *System) Send(ctx context.Context, to *PID, message any) error {
	process, mail, err := sys.find(to)
	if err != nil {
		return err
	}
	var hs buffer.Handles
	if err := collect(message, &hs); err != nil {
		return err
	}
	if hs.Len() > 0 && mail == nil {
		return fmt.Errorf("actor: %s carries buffers, and %s is not a stream actor: %w", reflect.TypeOf(message), to.Id, buffer.ErrNoStream)
	}
	if mail != nil {
		w := waiter{ch: make(chan struct{}, 1)}
		for {
			mail.mu.Lock()
			full, closed := mail.user.len() >= mailboxBound, mail.closed
			if full && !closed {
				mail.senders.add(&w)
			}
			mail.mu.Unlock()
			if closed {
				return ErrNoActor
			}
			if !full {
				break
			}
			select {
			case <-w.ch:
			case <-ctx.Done():
				mail.mu.Lock()
				next := mail.senders.leave(&w)
				mail.mu.Unlock()
				next.wakeFrom(nil)
				return context.Cause(ctx)
			}
		}
	}
	if hs.Len() > 0 {
		if err := buffer.CanGive(nil, &hs); err != nil {
			return err
		}
		buffer.Give(nil, &hs, zeroPoint)
	}
	process.SendUserMessage(to, message)
	return nil
}

// find is a living process of this system, and its mailbox where it is a stream
// actor.
func (sys *System) find(to *PID) (proto.Process, *mailbox, error) {
	process, ok := sys.root.ProcessRegistry.Get(to)
	if !ok {
		return nil, nil, fmt.Errorf("%w: %s", ErrNoActor, pidName(to))
	}
	if s := sys.byPID(to); s != nil {
		return process, s.mail, nil
	}
	return process, nil, nil
}

func pidName(p *PID) string {
	if p == nil {
		return "nil"
	}
	return p.Address + "/" + p.Id
}

// handOver gives away the buffers of a message that came through protoactor's own
// Send, which knows no error: they are their owner's, whose code is what runs.
// What [Stream.Send] has given away already passes.
func (sys *System) handOver(message any) error {
	p, err := planOf(reflect.TypeOf(message))
	if err != nil || p == nil {
		return err
	}
	var hs buffer.Handles
	p.collect(message, &hs)
	if hs.Len() == 0 || buffer.AllInFlight(&hs) {
		return nil
	}
	owner := buffer.OwnerOf(&hs)
	s := sys.byOwner(owner)
	if s == nil {
		return buffer.CanGive(nil, &hs) // says whose they are
	}
	if err := s.check(); err != nil {
		return err
	}
	s.handles.Reset()
	p.collect(message, &s.handles)
	return s.handOver()
}

// messagePlan is how the buffers in messages of one dynamic type are found.
type messagePlan struct {
	carrier bool
	plan    buffer.Plan
}

var plans sync.Map // reflect.Type → *messagePlan, or error

var carrierType = reflect.TypeFor[buffer.Carrier]()

// planOf is nil for a type whose messages carry no buffers.
func planOf(t reflect.Type) (*messagePlan, error) {
	if t == nil {
		return nil, nil
	}
	if p, ok := plans.Load(t); ok {
		switch p := p.(type) {
		case error:
			return nil, p
		case *messagePlan:
			return p, nil
		}
	}
	p, err := makePlan(t)
	if err != nil {
		plans.Store(t, err)
	} else {
		plans.Store(t, p)
	}
	return p, err
}

func makePlan(t reflect.Type) (*messagePlan, error) {
	if t.Implements(carrierType) {
		return &messagePlan{carrier: true}, nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	plan, err := buffer.PlanFor(t)
	if err != nil {
		return nil, errors.Join(errors.New("actor: a message type"), err)
	}
	if !plan.Carries() {
		return nil, nil
	}
	return &messagePlan{plan: plan}, nil
}

func (p *messagePlan) collect(message any, h *buffer.Handles) {
	if p.carrier {
		message.(buffer.Carrier).Carry(h)
		return
	}
	// The second word of an interface points to the value, of a pointer it is
	// the pointer itself: to the fields in either case. A type with a buffer in
	// it is never stored in the word directly.
	if data := (*[2]unsafe.Pointer)(unsafe.Pointer(&message))[1]; data != nil {
		p.plan.Fields(data, h)
	}
}

// collect lists the buffers that a message carries.
func collect(message any, h *buffer.Handles) error {
	p, err := planOf(reflect.TypeOf(message))
	if err == nil && p != nil {
		p.collect(message, h)
	}
	return err
}
