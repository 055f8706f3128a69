package actor

import (
	"reflect"
	"sync"
	"sync/atomic"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/buffer"
)

// mailbox is the protoactor mailbox of a stream actor. It takes what comes, from
// its construction on: a bounded one would make two actors that flood each other
// wait for ever, and protoactor registers a PID before it wires the mailbox up.
// The bound is at the API's edge: see [Stream.Send].
type mailbox struct {
	s *Stream

	mu       sync.Mutex
	system   queue[any]
	user     queue[any]
	promised int // credits given to senders whose messages are not queued yet
	closed   bool
	senders  waitQueue // of those who wait for credit
	watched  []*PID    // who has asked to be told of the end

	posted atomic.Uint32 // which of the queues have something, to be seen without mu; written under it
	wanted atomic.Bool   // somebody waits for credit

	// Of the actor's thread: it takes all of user at once, so that sender and receiver
	// meet under mu once for many messages.
	taken queue[any]
	left  atomic.Int32 // length of taken, which is credit that is still used

	invoker proto.MessageInvoker
	ended   bool          // see over; the actor's thread's
	process proto.Process // ours in the registry, which tells our end from a namesake's life
}

// The bits of posted.
const (
	systemBit = 1 << iota
	userBit
)

// RegisterHandlers is part of protoactor's Mailbox; the dispatcher is not used,
// since the actor's own thread runs it.
func (m *mailbox) RegisterHandlers(i proto.MessageInvoker, _ proto.Dispatcher) { m.invoker = i }

// Start is part of protoactor's Mailbox. It is called once the PID is ours; a
// spawn under a taken name never gets here.
func (m *mailbox) Start() {
	m.process, _ = m.s.sys.root.ProcessRegistry.GetLocal(m.s.ref.pid.Id)
	m.s.started()
}

// UserMessageCount is part of protoactor's Mailbox.
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.users()
}

// users is, under mu, how many messages are queued.
func (m *mailbox) users() int { return m.user.len() + int(m.left.Load()) }

// PostUserMessage is part of protoactor's Mailbox. It runs on the sender's goroutine.
func (m *mailbox) PostUserMessage(message any) {
	_, content, sender := proto.UnwrapEnvelope(message)
	if content == nil {
		m.s.sys.log.Warn("actor: dropped", "message", "nil", "to", pidName(m.s.ref.pid))
		return
	}
	plan := planOf(reflect.TypeOf(content))
	if plan.batch {
		// The elements, and not the batch itself after them.
		for _, one := range content.(proto.MessageBatch).GetMessages() {
			m.PostUserMessage(&proto.MessageEnvelope{Message: one, Sender: sender})
		}
		return
	}
	if plan.nothing() {
		m.enqueue(message, false)
		return
	}
	if err := m.s.sys.handOver(content); err != nil {
		m.s.sys.log.Error("actor: a message was not sent: its buffers are not the sender's to give", "to", m.s.name, "error", err)
		m.s.sys.root.DeadLetter.SendUserMessage(m.s.ref.pid, message)
		return
	}
	m.enqueue(message, false)
}

// enqueue queues a message whose buffers have been handed over already. credited
// says that its sender has a credit, which it uses up.
func (m *mailbox) enqueue(message any, credited bool) {
	m.mu.Lock()
	if credited {
		m.promised--
	}
	if m.closed {
		m.mu.Unlock()
		m.undeliverable(message)
		return
	}
	m.user.push(message)
	m.note(userBit)
	m.mu.Unlock()
	m.s.schedule()
}

// undeliverable ends a message whose buffers have been handed over and that nobody
// will handle: they are released, and a request is answered. Only here is it certain
// that a buffer in flight is this message's, and not one that a channel holds while
// the message has a stale copy.
func (m *mailbox) undeliverable(message any) {
	_, content, _ := proto.UnwrapEnvelope(message)
	var hs buffer.Handles
	if collect(content, &hs) == nil && hs.Len() > 0 {
		m.s.sys.reclaimed.Add(int64(buffer.Drop(&hs)))
	}
	m.s.sys.root.DeadLetter.SendUserMessage(m.s.ref.pid, message)
}

// PostSystemMessage is part of protoactor's Mailbox.
func (m *mailbox) PostSystemMessage(message any) {
	m.mu.Lock()
	switch w := message.(type) {
	case *proto.Watch:
		m.watched = append(m.watched, w.Watcher)
	case *proto.Unwatch:
		for i, p := range m.watched {
			if p.Equal(w.Watcher) {
				m.watched = append(m.watched[:i], m.watched[i+1:]...)
				break
			}
		}
	}
	if m.closed {
		m.mu.Unlock()
		m.s.sys.root.DeadLetter.SendSystemMessage(m.s.ref.pid, message)
		return
	}
	m.system.push(message)
	m.note(systemBit)
	m.mu.Unlock()
	if isEnd(message) {
		m.s.endLife() // now: the actor may be waiting for it outside the library
	}
	m.s.schedule()
}

// note says, under mu, that a queue has something.
func (m *mailbox) note(bit uint32) {
	if p := m.posted.Load(); p&bit == 0 {
		m.posted.Store(p | bit)
	}
}

// popSystem takes a system message. Only the actor's thread does.
func (m *mailbox) popSystem() (any, bool) {
	if !m.hasSystem() {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	msg, ok := m.system.pop()
	if m.system.len() == 0 {
		m.posted.Store(m.posted.Load() &^ systemBit)
	}
	return msg, ok
}

// popUser takes a message, and gives its credit to somebody who waits for one. Only
// the actor's thread does.
func (m *mailbox) popUser() (any, bool) {
	if m.taken.len() == 0 {
		if m.posted.Load()&userBit == 0 {
			return nil, false
		}
		m.mu.Lock()
		m.user, m.taken = m.taken, m.user
		m.left.Store(int32(m.taken.len()))
		m.posted.Store(m.posted.Load() &^ userBit)
		m.mu.Unlock()
	}
	msg, _ := m.taken.pop()
	m.left.Store(int32(m.taken.len()))
	if m.wanted.Load() {
		m.mu.Lock()
		next := m.credit()
		m.mu.Unlock()
		next.wakeFrom(nil)
	}
	return msg, true
}

// credit finds, under mu, who waits for a credit that there is now.
func (m *mailbox) credit() *waiter {
	if m.full() {
		return nil
	}
	w := m.senders.pop()
	m.wanted.Store(m.senders.first != nil)
	return w
}

// full reports, under mu, whether there is no credit left.
func (m *mailbox) full() bool { return m.users()+m.promised >= mailboxBound && !m.closed }

// take takes a credit where there is one, and otherwise enters w among those who
// wait for one. It fails where the actor has ended.
func (m *mailbox) take(w *waiter) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full() && m.enlist(w) {
		return false, nil
	}
	if w.q == &m.senders {
		m.senders.remove(w)
	}
	if m.closed {
		return false, &endedError{m.s.name}
	}
	m.promised++
	return true, nil
}

// enlist enters w, under mu, among those who wait for credit, and reports whether it
// has to (A3): the thread may have handled a message before it could see that w waits.
func (m *mailbox) enlist(w *waiter) bool {
	m.senders.add(w)
	m.wanted.Store(true)
	return m.full()
}

// overdraw takes a credit that is not there.
func (m *mailbox) overdraw(w *waiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.q == &m.senders {
		m.senders.remove(w)
	}
	m.promised++
}

// giveBack gives back a credit that was not used.
func (m *mailbox) giveBack() {
	m.mu.Lock()
	m.promised--
	next := m.credit()
	m.mu.Unlock()
	next.wakeFrom(nil)
}

// leave ends a wait for credit.
func (m *mailbox) leave(w *waiter) {
	m.mu.Lock()
	next := m.senders.leave(w)
	m.mu.Unlock()
	next.wakeFrom(nil)
}

// empty reports whether nothing is queued. Only the actor's thread may ask.
func (m *mailbox) empty() bool {
	return m.posted.Load() == 0 && m.taken.len() == 0
}

func (m *mailbox) hasSystem() bool { return m.posted.Load()&systemBit != 0 }

// ends reports whether a Stop or a Restart is queued.
func (m *mailbox) ends() bool {
	if !m.hasSystem() {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.system.len() {
		if isEnd(m.system.ring[(m.system.head+i)%len(m.system.ring)]) {
			return true
		}
	}
	return false
}

func isEnd(message any) bool {
	switch message.(type) {
	case *proto.Stop, *proto.Restart:
		return true
	}
	return false
}

// over reports whether protoactor has ended the actor, as of the last look. Only
// what the actor's own thread handles can end it.
func (m *mailbox) over() bool { return m.ended }

// look finds out, after a system message, whether that has ended the actor: its
// process is no longer the one that was registered for it.
func (m *mailbox) look() {
	p, ok := m.s.sys.root.ProcessRegistry.GetLocal(m.s.ref.pid.Id)
	m.ended = !ok || p != m.process
}

// shut refuses messages from now on, and hands what is queued to the dead
// letters, which answer requests and release what is carried.
func (m *mailbox) shut() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	for {
		msg, ok := m.popSystem()
		if !ok {
			break
		}
		if _, watch := msg.(*proto.Watch); watch {
			m.s.sys.root.DeadLetter.SendSystemMessage(m.s.ref.pid, msg)
		}
	}
	for {
		msg, ok := m.popUser()
		if !ok {
			break
		}
		m.undeliverable(msg)
	}
	for {
		m.mu.Lock()
		w := m.senders.pop()
		m.mu.Unlock()
		if w == nil {
			return
		}
		w.wake()
	}
}
