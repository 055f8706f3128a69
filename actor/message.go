package actor

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/device"
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

// Request is Send, with s's actor as the one to respond to: the answer is a message.
// [Stream.Ask] waits for it.
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
	if err := carries(to, process, mail, message, &s.handles); err != nil {
		return err
	}
	if q, ok := process.(*inquiry); ok {
		if err := s.handOver(); err != nil {
			return err
		}
		q.deliver(message)
		return nil
	}
	if mail == nil {
		process.SendUserMessage(to, envelope)
		return nil
	}
	if err := s.credit(mail); err != nil {
		return err
	}
	if err := s.handOver(); err != nil {
		mail.giveBack()
		return err
	}
	mail.enqueue(envelope, true)
	return nil
}

// carries lists the buffers that a message carries, and refuses what may not be sent.
func carries(to *PID, process proto.Process, mail *mailbox, message any, hs *buffer.Handles) error {
	if message == nil {
		return errNilMessage
	}
	p := planOf(reflect.TypeOf(message))
	if p.batch {
		return errBatch
	}
	if err := p.collect(message, hs); err != nil {
		return err
	}
	if _, answer := process.(*inquiry); hs.Len() > 0 && mail == nil && !answer {
		return fmt.Errorf("actor: %T carries buffers, and %s is not a stream actor: %w", message, to.Id, buffer.ErrNoStream)
	}
	return nil
}

var (
	errNilMessage = errors.New("actor: nil is not a message")
	errBatch      = errors.New("actor: a batch has no credit: send its messages one by one")
)

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
	for {
		if ok, err := m.take(&s.wait); ok || err != nil {
			return err
		}
		if s.waitsForItself(m) {
			m.overdraw(&s.wait)
			return nil
		}
		err := s.cause()
		if err == nil && s.cuda.Unsettled() {
			_, err = s.cuda.Flush(false)
		}
		if err != nil {
			m.leave(&s.wait)
			return err
		}
		s.blocked.Store(m)
		if !s.waitsForItself(m) { // again: the others of a circle may have missed us until now
			s.park()
		}
		s.blocked.Store(nil)
	}
}

// waitsForItself reports whether waiting for credit of m would be for ever: because
// it is our own mailbox, or because its actor waits, through others perhaps, for
// credit of ours. The one who notices goes over the bound.
func (s *Stream) waitsForItself(m *mailbox) bool {
	for range s.sys.actors() {
		if m == nil || m.s.fn != nil { // a function's mailbox is emptied while it waits
			return false
		}
		if m == s.mail {
			return true
		}
		m = m.s.blocked.Load()
	}
	return false
}

// Send sends a message from an ordinary goroutine, which has no stream and so can
// pass on pinned memory and plain values only. It waits where a stream actor's
// mailbox is full, until ctx ends.
func (sys *System) Send(ctx context.Context, to *PID, message any) error {
	return sys.send(ctx, to, message, message)
}

func (sys *System) send(ctx context.Context, to *PID, message, envelope any) error {
	process, mail, err := sys.find(to)
	if err != nil {
		return err
	}
	var hs buffer.Handles
	if err := carries(to, process, mail, message, &hs); err != nil {
		return err
	}
	if q, ok := process.(*inquiry); ok {
		if err := giveHere(&hs); err != nil {
			return err
		}
		q.deliver(message)
		return nil
	}
	if mail == nil {
		process.SendUserMessage(to, envelope)
		return nil
	}
	w := waiter{ch: make(chan struct{}, 1)}
	for {
		ok, err := mail.take(&w)
		if err != nil {
			return err
		}
		if ok {
			break
		}
		if err := w.await(ctx); err != nil {
			mail.leave(&w)
			return err
		}
	}
	if err := giveHere(&hs); err != nil {
		mail.giveBack()
		return err
	}
	mail.enqueue(envelope, true)
	return nil
}

// giveHere gives away what an ordinary goroutine owns.
func giveHere(hs *buffer.Handles) error {
	err := buffer.CanGive(nil, hs)
	if err == nil {
		buffer.Give(nil, hs, device.Point{})
	}
	return err
}

// find is a living process of this system, and its mailbox where it is a stream
// actor.
func (sys *System) find(to *PID) (proto.Process, *mailbox, error) {
	process, ok := sys.root.ProcessRegistry.Get(to)
	if !ok {
		return nil, nil, sys.noActor(to)
	}
	if s := sys.byPID(to); s != nil {
		return process, s.mail, nil
	}
	return process, nil, nil
}

// noActor says why a PID has no process: its actor has ended, or never was.
func (sys *System) noActor(to *PID) error {
	if to != nil && to.Address == sys.root.Address() {
		if i := strings.LastIndexByte(to.Id, '$'); i >= 0 {
			n, err := strconv.ParseUint(to.Id[i+1:], 36, 64)
			if err == nil && n > 0 && n <= sys.names.Load() {
				return &endedError{to.Id[:i]}
			}
		}
	}
	return fmt.Errorf("%w: %s", ErrNoActor, pidName(to))
}

func pidName(p *PID) string {
	if p == nil {
		return "nil"
	}
	return p.Address + "/" + p.Id
}

// handOver gives away the buffers of a message that came through protoactor's own
// Send, which knows no error: they are their owner's, whose code is what runs.
func (sys *System) handOver(message any) error {
	var hs buffer.Handles
	if err := collect(message, &hs); err != nil || hs.Len() == 0 {
		return err
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
	if err := collect(message, &s.handles); err != nil {
		return err
	}
	return s.handOver()
}

// messagePlan is how the buffers in messages of one dynamic type are found.
type messagePlan struct {
	of      reflect.Type
	err     error // why such a message cannot be sent
	batch   bool
	carries bool
	carrier bool
	plan    buffer.Plan
}

var (
	plans sync.Map // reflect.Type → *messagePlan

	// recent are plans of types that were asked for not long ago, each at the place
	// that its type has. A message asks several times on its way, and the map costs
	// more than the rest of it.
	recent [64]atomic.Pointer[messagePlan]
)

var (
	carrierType = reflect.TypeFor[buffer.Carrier]()
	batchType   = reflect.TypeFor[proto.MessageBatch]()
)

// planOf is the plan for messages of the type t, which is not nil.
func planOf(t reflect.Type) *messagePlan {
	// The second word of an interface with a *rtype in it is the type's address.
	at := &recent[uintptr((*[2]unsafe.Pointer)(unsafe.Pointer(&t))[1])/64%uintptr(len(recent))]
	if p := at.Load(); p != nil && p.of == t {
		return p
	}
	v, ok := plans.Load(t)
	if !ok {
		v, _ = plans.LoadOrStore(t, makePlan(t))
	}
	p := v.(*messagePlan)
	at.Store(p)
	return p
}

func makePlan(t reflect.Type) *messagePlan {
	p := &messagePlan{of: t, batch: t.Implements(batchType)}
	if t.Implements(carrierType) {
		p.carrier, p.carries = true, true
		return p
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	plan, err := buffer.PlanFor(t)
	if err != nil {
		p.err = errors.Join(errors.New("actor: a message type"), err)
		return p
	}
	p.plan, p.carries = plan, plan.Carries()
	return p
}

// nothing reports whether such messages carry no buffers.
func (p *messagePlan) nothing() bool { return !p.carries && p.err == nil }

// collect lists the buffers that a message of the plan's type carries.
func (p *messagePlan) collect(message any, h *buffer.Handles) error {
	switch {
	case p.err != nil || !p.carries:
		return p.err
	case p.carrier:
		return carry(message, h)
	}
	// The second word of an interface points to the value, of a pointer it is
	// the pointer itself: to the fields in either case. A type with a buffer in
	// it is never stored in the word directly.
	if data := (*[2]unsafe.Pointer)(unsafe.Pointer(&message))[1]; data != nil {
		p.plan.Fields(data, h)
	}
	return nil
}

func carry(message any, h *buffer.Handles) (err error) {
	defer func() {
		// Whose thread this is has nothing to do with the message's mistake.
		if v := recover(); v != nil {
			err = fmt.Errorf("actor: %T.Carry panicked: %v", message, v)
		}
	}()
	message.(buffer.Carrier).Carry(h)
	return nil
}

// carriesNone reports whether a message is of a type that carries no buffers.
func carriesNone(message any) bool {
	return message == nil || planOf(reflect.TypeOf(message)).nothing()
}

// collect lists the buffers that a message carries.
func collect(message any, h *buffer.Handles) error {
	if message == nil {
		return nil
	}
	return planOf(reflect.TypeOf(message)).collect(message, h)
}
