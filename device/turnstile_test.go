package device

import (
	"sync"
	"testing"
)

func TestTakesTurns(t *testing.T) {
	for _, c := range []struct {
		working int32
		procs   int
		want    bool
	}{{0, 16, false}, {1, 16, false}, {2, 16, true}, {3, 16, false}, {2, 2, false}, {2, 1, false}, {2, 3, true}} {
		if got := takesTurns(c.working, c.procs); got != c.want {
			t.Errorf("takesTurns(%d, %d) is %v, want %v", c.working, c.procs, got, c.want)
		}
	}
}

// One at a time has the turn, and nobody waits for ever for it.
func TestTurnstile(t *testing.T) {
	var s turnstile
	var wg sync.WaitGroup
	in, most := 0, 0
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				if s.enter() {
					in++
					most = max(most, in)
					in--
					s.leave()
				}
			}
		})
	}
	wg.Wait()
	if most != 1 {
		t.Errorf("%d had the turn at once", most)
	}
	if !s.enter() {
		t.Fatal("nobody has the turn, and it does not come")
	}
	if s.enter() {
		t.Error("two have the turn")
	}
	s.leave()
	if !s.enter() {
		t.Error("the turn was given back, and does not come")
	}
}
