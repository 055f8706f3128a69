package actortest_test

import (
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/actor/actortest"
)

// Two actors fill each other's channels: each would receive when it has sent.
func crossed(t testing.TB, sys *actor.System) {
	a, b := actor.NewChan[int](1), actor.NewChan[int](1)
	talk := func(out, in *actor.Chan[int]) func(*actor.Stream) error {
		return func(s *actor.Stream) error {
			for i := range 2 {
				if err := out.Send(s, i); err != nil {
					return err
				}
			}
			_, err := in.Recv(s)
			return err
		}
	}
	g := sys.Group(t.Context())
	g.Go("left", sys.Device(0), talk(a, b))
	g.Go("right", sys.Device(1), talk(b, a))
	_ = g.Wait()
}

func TestADeadlockIsNamed(t *testing.T) {
	for _, c := range []struct {
		name string
		f    actortest.Func
		want []string
	}{
		{"two full channels", crossed, []string{
			`"left" waits to send to channel 1, of int, which is full (1 of 1)`,
			`"right" waits to send to channel 2, of int, which is full (1 of 1)`,
			"actortest_test.crossed",
		}},
		{"an answer that never comes", func(t testing.TB, sys *actor.System) {
			deaf, err := sys.Spawn("deaf", sys.Device(0), actor.PropsFromFunc(func(actor.Context) {}))
			ok(t, err)
			g := sys.Group(t.Context())
			g.Go("asker", sys.Device(0), func(s *actor.Stream) error {
				_, err := s.Ask(deaf.PID(), "hello")
				return err
			})
			_ = g.Wait()
		}, []string{`"deaf" waits for a message`, `"asker" waits for the answer of nonhost/deaf`}},
		{"a selector", func(t testing.TB, sys *actor.System) {
			a, b := actor.NewChan[int](1), actor.NewChan[Buf](1)
			g := sys.Group(t.Context())
			g.Go("chooser", sys.Device(0), func(s *actor.Stream) error {
				var v int
				var x Buf
				_, err := actor.NewSelector(actor.Receiving(a, &v), actor.Receiving(b, &x)).Wait(s)
				return err
			})
			_ = g.Wait()
		}, []string{`"chooser" selects: to receive from channel 1, of int, which is empty; or to receive from channel 2, of buffer.Buf[uint32], which is empty`}},
		{"memory", func(t testing.TB, sys *actor.System) {
			g := sys.Group(t.Context())
			g.Go("greedy", sys.Device(0), func(s *actor.Stream) error {
				for {
					if _, err := filled(s, 1); err != nil {
						return err
					}
				}
			})
			_ = g.Wait()
		}, []string{`"greedy" waits for the GPU: `, "bytes of the memory of device 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(3) {
				o := actortest.Config{Options: []actor.Option{actor.WithBudget(1 << 16)}}.Try(t, seed, c.f)
				text := o.String()
				for _, want := range append(c.want, "deadlock: nothing can happen any more") {
					if !strings.Contains(text, want) {
						t.Fatalf("it does not say %s:\n%s", want, text)
					}
				}
			}
		})
	}
}

// A deadline is no deadlock: time goes on until it ends.
func TestADeadlineEndsIt(t *testing.T) {
	actortest.Seeds(t, 5, func(t testing.TB, sys *actor.System) {
		ch := actor.NewChan[int](1)
		if _, err := ch.RecvCtx(deadline(t)); err == nil {
			t.Error("received something")
		}
	})
}
