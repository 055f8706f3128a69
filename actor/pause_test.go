package actor

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// idleThread is a thread without a goroutine that runs it, with actors that wait for
// the GPU. polled is called with the number of the one that is asked for.
func idleThread(p Policy, actors int, polled func(i int) (bool, error)) (*Thread, []*Stream) {
	t := &Thread{
		sys:    &System{policy: p, order: firstCome{}},
		wake:   make(chan struct{}, 1),
		timer:  time.NewTimer(time.Hour),
		actors: map[*Stream]struct{}{},
	}
	t.timer.Stop()
	all := make([]*Stream, actors)
	for i := range all {
		s := &Stream{t: t, poll: func() (bool, error) { return polled(i) }}
		s.up.Store(true)
		t.actors[s] = struct{}{}
		t.polling(s)
		all[i] = s
	}
	return t, all
}

// Few of many waits are asked for at once, in turn.
func TestWaitsAreAskedForInTurn(t *testing.T) {
	const n = 2*askAtOnce + 8
	var asked []int
	th, all := idleThread(Balanced, n, func(i int) (bool, error) {
		asked = append(asked, i)
		switch i {
		case 3:
			return true, nil
		case 5:
			return false, errors.ErrUnsupported
		}
		return false, nil
	})
	th.polling(all[7]) // it waits already
	all[9].poll = nil  // it has given up
	var want []int
	for i := range n {
		if i != 9 {
			want = append(want, i)
		}
	}
	for round, wantMore := range []bool{true, false, false} {
		if some := th.ask(askAtOnce); some != wantMore {
			t.Errorf("round %d found some: %v", round, some)
		}
		if len(asked) > (round+1)*askAtOnce {
			t.Errorf("%d were asked for in %d rounds", len(asked), round+1)
		}
	}
	if got := fmt.Sprint(asked[:n-1]); got != fmt.Sprint(want) {
		t.Errorf("asked for %v, want each once", got)
	}
	if asked[n-1] != 0 {
		t.Errorf("then for %d, want 0 again", asked[n-1])
	}
	var ready []*Stream
	for th.ready.len() > 0 {
		ready = append(ready, th.ready.take(0))
	}
	if len(ready) != 2 || ready[0] != all[3] || ready[1] != all[5] || all[5].pollErr == nil {
		t.Errorf("%d actors are ready", len(ready))
	}
	if th.polls.len() != n-3 || all[3].polled || all[9].polled {
		t.Errorf("%d wait still, want %d", th.polls.len(), n-3)
	}
}

// While others are ready, few are asked for that are not over, and all that are.
func TestFewAreAskedForMeanwhile(t *testing.T) {
	asked := 0
	th, _ := idleThread(Balanced, 2*askAtOnce, func(i int) (bool, error) { asked++; return i < 3, nil })
	th.askMeanwhile()
	if want := 3 + askWhenBusy; asked != want || th.ready.len() != 3 {
		t.Errorf("%d were asked for and %d are ready, want %d and 3", asked, th.ready.len(), want)
	}
	th.asked = time.Now().Add(time.Hour) // it has asked not long ago
	th.askMeanwhile()
	if want := 3 + askWhenBusy; asked != want {
		t.Errorf("%d were asked for at once again", asked-want)
	}
}

// A wait that outlasts a spin costs one question for each pause, whatever the policy.
func TestAPauseIsOneQuestion(t *testing.T) {
	asked := 0
	th, _ := idleThread(Latency, 1, func(int) (bool, error) { asked++; return false, nil })
	th.sys.maySpin, th.sys.mayNap = 1, 1
	th.d = newSystem(t).Device(0)
	th.turn()
	if !th.quiet {
		t.Fatal("it did not pause")
	}
	for round := range 10 {
		asked = 0
		th.turn()
		if asked != 1 {
			t.Fatalf("round %d: %d questions", round, asked)
		}
	}
}

// Whatever is posted ends a pause, whichever way the thread sleeps.
func TestAPostEndsAPause(t *testing.T) {
	for name, naps := range map[string]int32{"nap": 1, "timer": 0} {
		t.Run(name, func(t *testing.T) {
			th, all := idleThread(Balanced, 1, nil)
			if naps > 0 && !canNap {
				t.Skip("threads wait by timers here")
			}
			th.sys.mayNap = naps
			pause := func() chan struct{} {
				over := make(chan struct{})
				go func() {
					defer close(over)
					th.pause(time.Hour)
				}()
				return over
			}
			for range 100 {
				over := pause()
				until(t, "it sleeps", func() bool { return th.sleep.Load() != awake })
				th.post(all[0])
				await(t, "the pause ends", over)
				await(t, "what has been posted is not slept over", pause())
				th.take()
				select { // what came too late to wake anybody
				case <-th.wake:
				default:
				}
			}
		})
	}
}

// A nap ends when it is ended, and does not begin on a word that has changed.
func TestNap(t *testing.T) {
	if !canNap {
		t.Skip("threads wait by timers here")
	}
	var word atomic.Int32
	nap(&word, 1, time.Hour)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for word.Load() == 0 {
			nap(&word, 0, time.Hour)
		}
	}()
	word.Store(1)
	until(t, "the nap ends", func() bool {
		endNap(&word)
		select {
		case <-over:
			return true
		default:
			return false
		}
	})
	nap(&word, 1, time.Nanosecond)
}
