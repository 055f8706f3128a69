package actor

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"testing"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/buffer"
)

// threads is how many OS threads the process has; 0 where the system does not say.
func threads() int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return 0
	}
	return len(tasks)
}

// held is what must come back to where it was.
type held struct{ threads, goroutines, streams, events, actors, reserved int }

func heldBy(sys *System) held {
	n := sys.Counts()
	return held{
		threads: n.Threads, goroutines: runtime.NumGoroutine(), streams: n.Streams, events: n.Events, actors: n.Actors,
		reserved: int(sys.Device(0).Memory().Reserved),
	}
}

func TestT4_ManyActorsOneAfterTheOther(t *testing.T) {
	total, atOnce := 10_000, 500
	if testing.Short() || raceEnabled {
		total, atOnce = 600, 100
	}
	sys := newSystem(t)
	round := func() {
		var ready, refs = make(chan struct{}, atOnce), make([]*Ref, atOnce)
		for i := range refs {
			if i%2 == 0 {
				refs[i] = start(t, sys, "function", sys.Device(0), func(s *Stream) error {
					b, err := filled(s, 1)
					ready <- struct{}{}
					s.Rest()
					return errors.Join(err, b.Release(s))
				})
				continue
			}
			refs[i] = spawn(t, sys, "handler", sys.Device(0), func(ctx Context) {
				if _, ok := ctx.Message().(*Started); ok {
					_, err := filled(StreamOf(ctx), 1) // left to be reclaimed
					if err != nil {
						t.Error(err)
					}
					ready <- struct{}{}
				}
			})
		}
		for range refs {
			await(t, "all are at work", ready)
		}
		for _, r := range refs {
			r.Stop()
		}
		finish(t, refs...)
	}
	round() // what is cached is made now
	settled := func() held {
		var h held
		until(t, "threads end", func() bool { h = heldBy(sys); return h.threads == 0 && h.streams == 0 })
		return h
	}
	before, osThreads := settled(), threads()
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	heap := mem.HeapInuse
	for range total/atOnce - 1 {
		round()
	}
	after := settled()
	until(t, "goroutines end", func() bool { after = heldBy(sys); return after.goroutines <= before.goroutines+2 })
	// Events and memory are cached, and do not grow with the number of actors.
	if after.events > before.events+atOnce || after.reserved > 2*before.reserved || after.actors != 0 {
		t.Errorf("%+v before, %+v after", before, after)
	}
	if now := threads(); now > osThreads+20 {
		t.Errorf("%d OS threads before, %d after", osThreads, now)
	}
	runtime.GC()
	runtime.ReadMemStats(&mem)
	if grown := int64(mem.HeapInuse) - int64(heap); grown > 64<<20 {
		t.Errorf("the heap has grown by %d KiB", grown>>10)
	}
}

func TestT4_TooManyAtOnce(t *testing.T) {
	sys := newSystem(t, WithMaxThreads(5))
	var refs []*Ref
	rest := func(s *Stream) error { s.Rest(); return nil }
	for range 4 {
		refs = append(refs, start(t, sys, "rests", sys.Device(0), rest))
	}
	th := sharedThread(t, sys)
	if _, err := sys.Go("one more", sys.Device(0), rest); !errors.Is(err, ErrTooManyThreads) || !strings.Contains(err.Error(), "one more") {
		t.Errorf("Go: %v", err)
	}
	if _, err := sys.Spawn("one more", sys.Device(0), PropsFromFunc(func(Context) {})); !errors.Is(err, ErrTooManyThreads) {
		t.Errorf("Spawn: %v", err)
	}
	if _, err := sys.NewThread(sys.Device(0)); !errors.Is(err, ErrTooManyThreads) {
		t.Errorf("NewThread: %v", err)
	}
	for range 20 { // a shared thread takes any number
		refs = append(refs, start(t, sys, "shares", On(th), rest))
	}
	if n := sys.Counts(); n.Threads != 5 || n.Actors != 24 || n.Streams != 24 {
		t.Errorf("%+v", n)
	}
	refs[0].Stop()
	finish(t, refs[0])
	until(t, "its thread ends", func() bool { return sys.Counts().Threads == 4 })
	refs[0] = start(t, sys, "now there is room", sys.Device(0), rest)
	for _, r := range refs {
		r.Stop()
	}
	finish(t, refs...)
}

// A spawn that fails leaves neither thread nor stream behind.
func TestAFailedSpawnLeavesNothing(t *testing.T) {
	sys, other := newSystem(t), newSystem(t)
	th, otherThread := sharedThread(t, sys), sharedThread(t, other)
	ended := start(t, sys, "ended", On(th), func(*Stream) error { return nil })
	alone := start(t, sys, "alone", sys.Device(0), func(s *Stream) error { s.Rest(); return nil })
	foreign := start(t, other, "foreign", On(otherThread), func(s *Stream) error { s.Rest(); return nil })
	finish(t, ended)
	before := sys.Counts()
	for what, at := range map[string]Placement{
		"a device of another system":        other.Device(0),
		"a thread of another system":        On(otherThread),
		"an actor of another system":        Sharing(foreign),
		"an actor that has ended":           Sharing(ended),
		"an actor with a thread of its own": Sharing(alone),
	} {
		if ref, err := sys.Go("fails", at, func(*Stream) error { return nil }); err == nil {
			t.Errorf("%s: accepted", what)
			finish(t, ref)
		}
	}
	for _, at := range []Placement{sys.Device(0), On(th)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the producer's panic is swallowed")
				}
			}()
			_, _ = sys.Spawn("panics", at, PropsFromProducer(func() Receiver { panic("no actor") }))
		}()
	}
	if after := sys.Counts(); after != before {
		t.Errorf("%+v before, %+v after", before, after)
	}
	alone.Stop()
	foreign.Stop()
	finish(t, alone, foreign)
}

// One protoactor system serves one System, beside actors of its own.
func TestWithActorSystem(t *testing.T) {
	root := proto.NewActorSystem(proto.WithLoggerFactory(func(*proto.ActorSystem) *slog.Logger {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}))
	sys := newSystem(t, WithActorSystem(root))
	echo := root.Root.Spawn(PropsFromFunc(func(ctx Context) {
		if m, ok := ctx.Message().(string); ok {
			ctx.Respond("echo " + m)
		}
		if StreamOf(ctx) != nil {
			t.Error("an ordinary actor has a stream")
		}
	}))
	got := make(chan any, 1)
	ref := spawn(t, sys, "asker", sys.Device(0), func(ctx Context) {
		switch m := ctx.Message().(type) {
		case int:
			if err := StreamOf(ctx).Request(echo, "hello"); err != nil {
				t.Error(err)
			}
		case string:
			got <- m
		}
	})
	root.Root.Send(ref.PID(), 1)
	if m := await(t, "the echo", got); m != "echo hello" {
		t.Errorf("heard %v", m)
	}
	finish(t, start(t, sys, "sender", sys.Device(0), func(s *Stream) error {
		b, err := filled(s, 1)
		if err != nil {
			return err
		}
		if err := s.Send(echo, struct{ B Buf }{b}); !errors.Is(err, buffer.ErrNoStream) {
			t.Errorf("a buffer for an ordinary actor: %v", err)
		}
		return holds(s, b, 1)
	}))
	root.Root.StopFuture(echo).Wait()
	ref.Stop()
	finish(t, ref)
	rt := openRuntime(t)
	if second, err := NewSystem(WithOpenRuntime(rt), WithActorSystem(root)); err == nil {
		t.Error("a second System on one protoactor system")
		_ = second.Close(soon(t))
	}
	_ = rt.Close()
}

func TestValueIsMadeOnce(t *testing.T) {
	sys := newSystem(t)
	type key struct{}
	made := 0
	for range 3 {
		if v := sys.Value(key{}, func() any { made++; return made }); v != 1 {
			t.Errorf("value %v", v)
		}
	}
}
