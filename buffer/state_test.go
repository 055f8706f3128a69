package buffer

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// The state machine, whole: for every state what every event makes of it; an empty
// place is an event that is not legal there.
func TestNext(t *testing.T) {
	const no = State(99)
	table := map[State][eventCount]State{
		//          allocated  sent      received   away     bad       failed    overwritten released
		Free:      {Exclusive, no, no, no, no, no, no, no},
		Exclusive: {no, InFlight, no, no, no, Poisoned, Exclusive, Free},
		InFlight:  {no, no, Exclusive, Foreign, Poisoned, no, no, Free},
		Foreign:   {no, InFlight, no, no, no, no, no, Free},
		Poisoned:  {no, InFlight, no, no, no, Poisoned, Exclusive, Free},
	}
	if len(table) != len(stateNames) || int(eventCount) != len(eventNames) {
		t.Fatal("the table does not have every state and event")
	}
	for s, row := range table {
		for e, want := range row {
			got, ok := next(s, event(e))
			if ok != (want != no) || ok && got != want {
				t.Errorf("%v, %v: %v (%v), want %v", s, event(e), got, ok, want)
			}
		}
	}
	for s := range table {
		if _, ok := next(s, eventCount); ok {
			t.Errorf("%v: an event that is none is legal", s)
		}
	}
}

func TestNamesOfStates(t *testing.T) {
	seen := map[string]bool{}
	for s := range State(len(stateNames)) {
		if seen[s.String()] || s.String() == "" {
			t.Errorf("state %d is called %q", uint8(s), s)
		}
		seen[s.String()] = true
	}
	if got := State(77).String(); got != "state 77" {
		t.Errorf("%q", got)
	}
}

func TestPack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	gens, owners := []uint32{0, 1, maxGen - 1, maxGen}, []uint32{0, 1, 1<<32 - 1}
	for range 1000 {
		gens, owners = append(gens, rng.Uint32()&maxGen), append(owners, rng.Uint32())
	}
	words := map[word]string{}
	for i, gen := range gens {
		for _, owner := range []uint32{owners[i%len(owners)], owners[(i*7+1)%len(owners)]} {
			for s := range State(len(stateNames)) {
				w := pack(gen, owner, s)
				if w.gen() != gen || w.owner() != owner || w.state() != s {
					t.Fatalf("pack(%d, %d, %v) is %d, %d, %v", gen, owner, s, w.gen(), w.owner(), w.state())
				}
				what := fmt.Sprint(gen, owner, s)
				if was, ok := words[w]; ok && was != what {
					t.Fatalf("%s and %s are one word", was, what)
				}
				words[w] = what
			}
		}
	}
}

// B2: a slot whose generations are used up is retired, so that a stale handle is
// noticed for ever.
func TestB2_GenerationsThatAreUsedUpRetireTheSlot(t *testing.T) {
	r := newRig(t, 0)
	u := r.user(r.devs[0], "u")
	b, err := New[uint32](u, 1)
	r.ok(err)
	x := b.x
	r.ok(b.Release(u))
	x.word.Store(uint64(pack(maxGen-1, 0, Free))) // as if it had lived that often

	last, err := New[uint32](u, 1)
	r.ok(err)
	if last.x != x || last.gen != maxGen {
		t.Fatalf("the slot's last life is %d of another slot (%v)", last.gen, last.x != x)
	}
	r.ok(last.Release(u))
	var more []Buf[uint32]
	for range 3 * slabLen {
		b, err := New[uint32](u, 1)
		r.ok(err)
		if b.x == x {
			t.Fatal("a slot without generations lives again")
		}
		more = append(more, b)
	}
	if last.Valid() || b.Valid() {
		t.Error("a stale handle is valid")
	}
	r.ownership(last.Release(u), "u", "released")
	for _, b := range more {
		r.ok(b.Release(u))
	}
}
