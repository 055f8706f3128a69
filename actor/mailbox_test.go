package actor

import (
	"reflect"
	"testing"
)

// loose is the mailbox of an actor that nobody serves.
func loose(messages int) *mailbox {
	s := &Stream{}
	s.mail = &mailbox{s: s}
	for i := range messages {
		s.mail.enqueue(i, false)
	}
	return s.mail
}

// What was taken out at once comes before what is queued afterwards, and uses up
// credit until it is handled.
func TestMessagesKeepTheirOrder(t *testing.T) {
	m := loose(3)
	for want := range 6 {
		if n := m.UserMessageCount(); n != 3 {
			t.Fatalf("%d messages are queued, want 3", n)
		}
		if got, ok := m.popUser(); !ok || got != want {
			t.Fatalf("got %v, want %d", got, want)
		}
		m.enqueue(want+3, false)
	}
	for !m.empty() {
		m.popUser()
	}
	if _, ok := m.popUser(); ok || m.UserMessageCount() != 0 {
		t.Error("an empty mailbox has a message")
	}
}

// A message that is taken out after the mailbox was found full, and before it could be
// seen that somebody waits, wakes nobody: who waits finds the credit itself.
func TestACreditIsNotMissed(t *testing.T) {
	m := loose(mailboxBound)
	w := waiter{ch: make(chan struct{}, 1)}
	if !m.full() {
		t.Fatal("the mailbox is not full")
	}
	m.popUser()
	if m.enlist(&w) {
		t.Error("there is credit, and nobody has it")
	}
	if ok, err := m.take(&w); !ok || err != nil || w.q != nil {
		t.Errorf("the credit was not taken: %v, %v", ok, err)
	}
	if ok, _ := m.take(&w); ok {
		t.Error("there was one credit, and two were taken")
	}
	m.popUser()
	if len(w.ch) == 0 {
		t.Error("who waits was not woken")
	}
}

// A plan is never that of another type, however many there are.
func TestPlansOfManyTypes(t *testing.T) {
	for range 2 {
		for n := range 4 * len(recent) {
			of := reflect.ArrayOf(n, reflect.TypeFor[Buf]())
			if p := planOf(of); p.of != of || p.carries != (n > 0) || p.err != nil {
				t.Fatalf("%v has a plan of %v, carries: %v, %v", of, p.of, p.carries, p.err)
			}
		}
	}
}
