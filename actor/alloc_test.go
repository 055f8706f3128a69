package actor

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/gpuactor/gpuactor/cudart/check"
)

// mallocs is how often the process has allocated.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

const (
	warmUp   = 2000
	measured = 2000
)

// A warm hand-off allocates nothing: what the whole process allocates meanwhile is
// counted, the simulator included. A round is a launch, a send and a receive of two
// actors each.
func TestAHandOffAllocatesNothing(t *testing.T) {
	if raceEnabled || os.Getenv(check.Env) != "" {
		t.Skip("race detectors allocate")
	}
	sys := newSystem(t)
	th := sharedThread(t, sys)
	for name, at := range map[string]Placement{"on one thread": On(th), "on two threads": sys.Device(0)} {
		t.Run(name, func(t *testing.T) {
			there, back := NewChan[Buf](1), NewChan[Buf](1)
			echo := start(t, sys, "echo", at, func(s *Stream) error {
				for b, err := range there.All(s) {
					if err := errors.Join(err, add(s, b, 1), back.Send(s, b)); err != nil {
						return err
					}
				}
				return nil
			})
			server := start(t, sys, "server", at, func(s *Stream) error {
				defer there.Close()
				b, err := filled(s, 0)
				if err != nil {
					return err
				}
				rounds := func(n int) error {
					for i := range n {
						if i%32 == 0 {
							// Otherwise the device falls behind for as long as it likes,
							// and every item that is on its way needs an event.
							if err := s.Synchronize(); err != nil {
								return err
							}
						}
						if err := add(s, b, 1); err != nil {
							return err
						}
						if err := there.Send(s, b); err != nil {
							return err
						}
						if b, err = back.Recv(s); err != nil {
							return err
						}
					}
					return nil
				}
				if err := rounds(warmUp); err != nil {
					return err
				}
				defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection allocates too
				before := mallocs()
				if err := rounds(measured); err != nil {
					return err
				}
				// Room for an event or two where the device falls behind, and for what the Go
				// runtime does in the background.
				if n := mallocs() - before; n > measured/20 {
					t.Errorf("%d allocations in %d rounds", n, measured)
				} else {
					t.Logf("%d allocations in %d rounds", n, measured)
				}
				return holds(s, b, 2*(warmUp+measured))
			})
			finish(t, echo, server)
		})
	}
}

// The same for a receive by choice.
func TestASelectorAllocatesNothing(t *testing.T) {
	if raceEnabled || os.Getenv(check.Env) != "" {
		t.Skip("race detectors allocate")
	}
	sys := newSystem(t)
	finish(t, start(t, sys, "selector", sys.Device(0), func(s *Stream) error {
		items, other := NewChan[Buf](1), NewChan[int](1)
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		var in Buf
		var n int
		sel := NewSelector(Receiving(other, &n), Receiving(items, &in))
		rounds := func(n int) error {
			for range n {
				if err := items.Send(s, b); err != nil {
					return err
				}
				if _, err := sel.Wait(s); err != nil {
					return err
				}
				b = in
			}
			return nil
		}
		if err := rounds(warmUp); err != nil {
			return err
		}
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		before := mallocs()
		if err := rounds(measured); err != nil {
			return err
		}
		if n := mallocs() - before; n > measured/20 {
			t.Errorf("%d allocations in %d rounds", n, measured)
		}
		return holds(s, b, 1)
	}))
}
