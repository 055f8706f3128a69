package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpuactor/gpuactor/actor"
)

// gpu is the scanner on the devices of a runtime.
type gpu struct{}

const (
	// An interrupted scan ends of itself within milliseconds, but for what nobody
	// can interrupt: a driver that starts, a read of a file system that hangs, a
	// kernel that is running. It is left behind after this long.
	grace = 700 * time.Millisecond
	// How long the system may take to close when all actors have ended.
	patience = 10 * time.Second
)

func (gpu) scan(ctx context.Context, j job) (outcome, error) {
	var r results
	err := untilLeft(ctx, func() error { return scanAll(ctx, j, &r) })
	return r.outcome(), err
}

// untilLeft returns what work does, or, when ctx has ended and work has not soon
// after that, why ctx has ended; work then goes on alone.
func untilLeft(ctx context.Context, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(grace):
		return context.Cause(ctx)
	}
}

// scanAll opens the system, scans, and closes it.
func scanAll(ctx context.Context, j job, r *results) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	sys, err := open(j)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if e := sys.Close(ctx); e != nil {
			err = errors.Join(err, fmt.Errorf("closing: %w", e))
		}
	}()
	if n := len(sys.Devices()); n < j.asked {
		j.log.Info(fmt.Sprintf("-devices is %d, and there are %d: all of them are used", j.asked, n))
	}
	return newPipeline(sys, j, r).run(ctx)
}

// open opens the system that a job asks for; more may be asked of it than that.
func open(j job, more ...actor.Option) (*actor.System, error) {
	return actor.NewSystem(append([]actor.Option{
		actor.WithRuntime(j.runtime),
		actor.WithDevices(j.devices),
		actor.WithVirtual(j.virtual),
		actor.WithMaxThreads(threads(j.options)),
		actor.WithLogger(j.log),
	}, more...)...)
}

// threads is one for each actor, and one for each device's transfers.
func threads(o options) int { return o.producers + o.consumers + o.devices }
