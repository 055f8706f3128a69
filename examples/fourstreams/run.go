package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/gpuactor/gpuactor/actor"
)

// Exit statuses. An interrupt is 130, as shells report it.
const (
	exitOK          = 0
	exitReported    = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// closeIn bounds the end of a run that was given up.
const closeIn = 10 * time.Second

// run is the program, but for what belongs to the process. It returns the exit
// status. The end of ctx is an interrupt.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return exitUsage
	}
	if o.virtual > 2 {
		say(stderr, "-virtual is %d, and two of them are used", o.virtual)
	}
	r, err := observe(ctx, newKernels(image()), usual, append(o.system(), actor.WithLogger(slog.New(sayer{stderr: stderr})))...)
	interrupted := ctx.Err() != nil
	switch {
	case interrupted:
		r = failed("interrupted")
	case err != nil:
		r = failed(err.Error())
	}
	for _, p := range r.Problems {
		say(stderr, "%s", p)
	}
	if err := r.write(stdout, o.json); err != nil {
		say(stderr, "%v", err)
		return exitReported
	}
	switch {
	case interrupted:
		return exitInterrupted
	case len(r.Problems) > 0:
		return exitReported
	}
	return exitOK
}

// system are the options of the system of actors.
func (o options) system() []actor.Option {
	opts := []actor.Option{actor.WithDevices(2), actor.WithVirtual(o.virtual)}
	if o.runtime != "" {
		opts = append(opts, actor.WithRuntime(o.runtime))
	}
	return opts
}

// observe runs the scenario on a system of its own, and tells what was seen.
func observe(ctx context.Context, k kernels, p plan, opts ...actor.Option) (r *report, err error) {
	t := newTracer()
	sys, err := actor.NewSystem(append(opts, actor.WithTrace(t))...)
	if err != nil {
		return nil, err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeIn)
		defer cancel()
		err = errors.Join(err, sys.Close(end))
	}()
	if len(sys.Devices()) < 2 {
		return nil, fmt.Errorf("there is one device (%s), and it takes two: -virtual 2 has two contexts stand in for them", sys.Device(0).Name())
	}
	sc := newScenario(sys, k, t, p)
	if err := sc.run(ctx); err != nil {
		return nil, err
	}
	return sc.report(), nil
}
