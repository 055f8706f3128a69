package actortest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check"
	"github.com/gpuactor/gpuactor/cudart/sim"
	"github.com/gpuactor/gpuactor/device"
)

// Environment variables that repeat a failure, for [Run] and [Seeds]: the one seed to
// run, and what is chosen in place of what that seed would choose.
const (
	SeedEnv     = "GPUACTOR_SEED"
	ScheduleEnv = "GPUACTOR_SCHEDULE"
)

// Func is a test of a system. It is called once for each seed, with a system of its own,
// on a goroutine of its own; everything else that it uses it makes anew. t is the seed's:
// Fatal ends this run of it, also in an actor, whose failure that is. When it returns
// its Cleanup functions are called and the system is closed.
type Func func(t testing.TB, sys *actor.System)

// Config says what a system runs on. The zero value is two simulated devices, with a
// race checker.
type Config struct {
	Machine sim.Config     // but for its Clock, which is the seed's
	Options []actor.Option // of the system; without WithOpenRuntime

	// Around puts something around the simulator, below the race checker, for each seed.
	Around func(cudart.Runtime) cudart.Runtime

	NoCheck bool // no race checker
}

// Run runs f with one seed. The test fails where f fails, where the race checker reports
// something, where nothing can happen any more, or where the system cannot be closed.
func Run(t *testing.T, seed uint64, f Func) {
	t.Helper()
	Config{}.Run(t, seed, f)
}

// Seeds runs f with the seeds from 0 to n-1, until one fails.
func Seeds(t *testing.T, n int, f Func) {
	t.Helper()
	Config{}.Seeds(t, n, f)
}

// Run is [Run] on what c says.
func (c Config) Run(t *testing.T, seed uint64, f Func) {
	t.Helper()
	c.seeds(t, seed, seed+1, f)
}

// Seeds is [Seeds] on what c says.
func (c Config) Seeds(t *testing.T, n int, f Func) {
	t.Helper()
	c.seeds(t, 0, uint64(max(n, 0)), f)
}

func (c Config) seeds(t *testing.T, from, to uint64, f Func) {
	t.Helper()
	if text := os.Getenv(SeedEnv); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("actortest: %s=%q: %v", SeedEnv, text, err)
		}
		s, err := ParseSchedule(os.Getenv(ScheduleEnv))
		if err != nil {
			t.Fatalf("actortest: %s: %v", ScheduleEnv, err)
		}
		o := c.run(t, f, chosen{seed: seed, schedule: s, verbose: true})
		if o.Failed() {
			t.Fatalf("%v\n\nwhat happened:\n%v", o, o.trace())
		}
		t.Logf("seed %d passes; what happened:\n%v", seed, o.trace())
		return
	}
	for seed := from; seed < to; seed++ {
		o := c.Try(t, seed, f)
		if o.skipped != "" {
			t.Skip(o.skipped)
		}
		if o.Failed() {
			t.Fatal(c.explain(t, f, o))
		}
	}
}

// Try runs f with one seed, whatever the environment says, and fails nothing: the
// result says what came of it. It is for tests of tests.
func (c Config) Try(t *testing.T, seed uint64, f Func) *Outcome {
	t.Helper()
	return c.run(t, f, chosen{seed: seed})
}

// Replay is Try with the choices of a schedule in place of the seed's.
func (c Config) Replay(t *testing.T, s Schedule, f Func) *Outcome {
	t.Helper()
	return c.run(t, f, chosen{schedule: s})
}

// chosen is how a run is chosen.
type chosen struct {
	seed     uint64
	schedule Schedule   // empty: the seed chooses
	clock    *sim.Steps // nil: the schedule's, or the seed's
	verbose  bool
}

// longest is how long closing a system may take, of the bubble's time.
const longest = time.Minute

// run runs f once.
func (c Config) run(t *testing.T, f Func, how chosen) *Outcome {
	t.Helper()
	if c.Machine.Clock != nil {
		t.Fatal("actortest: the machine's clock is the seed's")
	}
	r := &run{outer: t, out: &Outcome{Seed: how.seed}}
	synctest.Test(t, func(*testing.T) { r.do(c, f, how) })
	return r.out
}

// do is a run, inside its bubble.
func (r *run) do(c Config, f Func, how chosen) {
	clock, picks := sim.Chaos(how.seed), picker(newDice(how.seed))
	if !how.schedule.Empty() {
		clock, picks = sim.Replay(how.schedule.device), how.schedule
	}
	if how.clock != nil {
		clock = how.clock
	}
	c.Machine.Clock = clock
	machine := sim.New(c.Machine)
	rt := machine
	if c.Around != nil {
		rt = c.Around(rt)
	}
	k := newConductor(picks, clock, how.verbose)
	defer func() { r.out.finish(k, clock) }()
	p := root()
	defer func() {
		if !r.out.failed { // else something may be left in it
			roots.Put(p)
		}
	}()
	sys, err := actor.NewSystem(append(c.options(r, k, rt), actor.WithActorSystem(p))...)
	if err != nil {
		r.fail(fmt.Sprintf("actortest: the system: %v", err))
		return
	}
	go k.run()
	dog := watch(k, r, sys)
	r.call(f, sys)
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	if err := sys.Close(ctx); err != nil {
		r.fail(fmt.Sprintf("close: %v", err))
	} else if n := sys.Counts(); n.Actors+n.Threads+n.Streams+n.Events > 0 {
		r.fail(fmt.Sprintf("left when the system was closed: %+v", n))
	}
	cancel()
	k.end()
	dog.end()
	if err := machine.Close(); err != nil {
		r.fail(fmt.Sprintf("close the machine: %v", err))
	}
	time.Sleep(2 * time.Second) // protoactor's count of dead letters ends by itself
}

// roots are protoactor's systems that may be used again, which take longer to make than
// many a seed to run.
var roots sync.Pool

func root() *proto.ActorSystem {
	if p, ok := roots.Get().(*proto.ActorSystem); ok {
		return p
	}
	return proto.NewActorSystem(proto.WithLoggerFactory(func(*proto.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
}

// options are those of the system.
func (c Config) options(r *run, k *conductor, rt cudart.Runtime) []actor.Option {
	opts := []actor.Option{actor.WithLogger(slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: noTime})))}
	opts = append(opts, c.Options...)
	if !c.NoCheck {
		rt = check.New(rt, check.Options{Site: device.Site, Report: func(report *check.Report) { r.fail(report.String()) }})
	}
	return append(opts, actor.WithOpenRuntime(rt), actor.WithPolicy(actor.Frugal), runnerOption(k))
}

func noTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
