package actor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gpuactor/gpuactor/buffer"
)

// Senders and receivers of every kind give up at random, and no wake-up is lost: who
// stays gets everything. A lost one shows as a test that does not end.
func TestNoWakeUpIsLost(t *testing.T) {
	each := 1500
	if testing.Short() || raceEnabled {
		each = 300
	}
	for _, bound := range []int{1, 3} {
		t.Run(fmt.Sprint("bound ", bound), func(t *testing.T) {
			sys := newSystem(t)
			th := sharedThread(t, sys)
			items := NewChan[int](bound)
			var sent, received atomic.Int64
			send := func(try func(context.Context, int) error, seed uint64) error {
				r := rand.New(rand.NewPCG(seed, 1))
				for range each {
					ctx, cancel := context.WithCancel(context.Background())
					if r.IntN(2) == 0 {
						go cancel()
					}
					err := try(ctx, 1)
					cancel()
					switch {
					case err == nil:
						sent.Add(1)
					case !errors.Is(err, context.Canceled):
						return err
					}
				}
				return nil
			}
			var senders sync.WaitGroup
			for i := range 4 {
				senders.Go(func() {
					if err := send(items.SendCtx, uint64(i)); err != nil {
						t.Error(err)
					}
				})
			}
			// Givers-up among the receivers: goroutines, and actors that live for one call.
			var quitters sync.WaitGroup
			stop := make(chan struct{})
			for range 2 {
				quitters.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						ctx, cancel := context.WithCancel(context.Background())
						go cancel()
						if _, err := items.RecvCtx(ctx); err == nil {
							received.Add(1)
						}
						cancel()
					}
				})
			}
			var steady []*Ref
			for i, at := range []Placement{sys.Device(0), On(th), On(th)} {
				steady = append(steady, start(t, sys, fmt.Sprint("steady ", i), at, func(s *Stream) error {
					for _, err := range items.All(s) {
						if err != nil {
							return err
						}
						received.Add(1)
					}
					return nil
				}))
			}
			for i, at := range []Placement{sys.Device(1), On(th)} {
				ref := start(t, sys, fmt.Sprint("sender ", i), at, func(s *Stream) error {
					for range each {
						if err := items.Send(s, 1); err != nil {
							return err
						}
						sent.Add(1)
					}
					return nil
				})
				finish(t, ref)
			}
			senders.Wait()
			close(stop)
			quitters.Wait()
			items.Close()
			finish(t, steady...)
			if sent.Load() != received.Load() {
				t.Errorf("%d sent, %d received", sent.Load(), received.Load())
			}
		})
	}
}

// An undelivered buffer is its sender's again, whatever happens beside.
func TestCancelledSendsKeepTheirBuffers(t *testing.T) {
	rounds := 200
	if testing.Short() || raceEnabled {
		rounds = 50
	}
	sys := newSystem(t)
	items := NewChan[Host](1)
	receiver := start(t, sys, "receiver", sys.Device(0), func(s *Stream) error {
		for h, err := range items.All(s) {
			if err := errors.Join(err, h.Release(s)); err != nil {
				return err
			}
		}
		return nil
	})
	var delivered, kept int
	for range rounds {
		h, err := buffer.HostOn[uint32](sys.Device(0), 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		go cancel()
		if err := items.SendCtx(ctx, h); err == nil {
			delivered++
		} else if kept++; h.ReleaseHere() != nil {
			t.Errorf("an undelivered buffer is not the sender's (%v)", h.State())
		}
		cancel()
	}
	items.Close()
	finish(t, receiver)
	t.Logf("%d delivered, %d kept", delivered, kept)
}

// A goroutine that is woken for a place in the channel and finds that its value is no
// longer its own leaves the place to the next one.
func TestAWakeUpThatIsNotUsedIsPassedOn(t *testing.T) {
	sys := newSystem(t)
	items := NewChan[Host](1)
	hosts := make([]Host, 3)
	for i := range hosts {
		h, err := buffer.HostOn[uint32](sys.Device(0), 1)
		if err != nil {
			t.Fatal(err)
		}
		hosts[i] = h
	}
	if err := items.SendCtx(soon(t), hosts[0]); err != nil {
		t.Fatal(err)
	}
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- items.SendCtx(soon(t), hosts[1]) }()
	waiting(t, items, &items.senders, 1)
	go func() { second <- items.SendCtx(soon(t), hosts[2]) }()
	waiting(t, items, &items.senders, 2)
	if err := hosts[1].ReleaseHere(); err != nil { // a mistake of the program
		t.Fatal(err)
	}
	if _, err := items.RecvCtx(soon(t)); err != nil {
		t.Fatal(err)
	}
	var own *buffer.OwnershipError
	if err := await(t, "the first sender", first); !errors.As(err, &own) {
		t.Errorf("a released buffer was sent: %v", err)
	}
	if err := await(t, "the second sender", second); err != nil {
		t.Error(err)
	}
	items.Discard()
	if err := hosts[0].ReleaseHere(); err != nil {
		t.Error(err)
	}
}
