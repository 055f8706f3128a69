package actor

import (
	"errors"
	"fmt"
	"log/slog"

	proto "github.com/asynkron/protoactor-go/actor"

	"github.com/gpuactor/gpuactor/actor/internal/seam"
	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check"
	"github.com/gpuactor/gpuactor/device"
)

type config struct {
	runtime  cudart.Runtime
	open     cudart.Options
	device   device.Options
	threads  int
	log      *slog.Logger
	protoSys *proto.ActorSystem
	order    Order
	policy   Policy
	races    bool // look for them
	report   func(*check.Report)
	runner   seam.Runner
}

// Option is an option of [NewSystem].
type Option func(*config)

// WithRuntime chooses the runtime by name: auto, nvidia or sim. Without it,
// GPUACTOR_RUNTIME chooses, and auto is the default (see [cudart.Open]).
func WithRuntime(name string) Option { return func(c *config) { c.open.Name = name } }

// WithOpenRuntime uses a runtime that the caller has opened, and closes.
func WithOpenRuntime(rt cudart.Runtime) Option { return func(c *config) { c.runtime = rt } }

// WithDevices uses at most n devices; 0 is all.
func WithDevices(n int) Option { return func(c *config) { c.device.Max = n } }

// WithVirtual makes n contexts on the first GPU stand in for n devices: their order
// is that of devices, their speed is not. 0 is off.
func WithVirtual(n int) Option { return func(c *config) { c.device.Virtual = n } }

// WithBudget bounds the device memory of each device, in bytes, to what the device
// has at most; 0 is nine tenths of what is free.
func WithBudget(bytes uint64) Option { return func(c *config) { c.device.Budget = bytes } }

// WithTrace has t told of what streams are given.
func WithTrace(t device.Trace) Option { return func(c *config) { c.device.Trace = t } }

// WithMaxThreads bounds the threads of the system; one more is [ErrTooManyThreads].
func WithMaxThreads(n int) Option { return func(c *config) { c.threads = n } }

// WithLogger logs there, and protoactor too.
func WithLogger(l *slog.Logger) Option { return func(c *config) { c.log = l } }

// WithActorSystem uses a protoactor system that the program has already.
func WithActorSystem(s *proto.ActorSystem) Option { return func(c *config) { c.protoSys = s } }

// WithOrder decides what runs next on a thread.
func WithOrder(o Order) Option { return func(c *config) { c.order = o } }

// WithCheck puts a race checker around the runtime ([check.Checker], which is then what
// [System.Runtime] gives). Its reports are logged as errors, the first hundred, and all
// are given to report, where that is not nil, on the thread that issued what is wrong.
// In a test, WithCheck(check.To(t)) has each fail it. GPUACTOR_CHECK=race in the
// environment is WithCheck(nil) for a system without the option.
func WithCheck(report func(*check.Report)) Option {
	return func(c *config) { c.races, c.report = true, report }
}

// check refuses options that mean nothing.
func (c *config) check() error {
	for _, n := range []struct {
		option       string
		value, least int
	}{
		{"WithDevices", c.device.Max, 0},
		{"WithVirtual", c.device.Virtual, 0},
		{"WithMaxThreads", c.threads, 1},
	} {
		if n.value < n.least {
			return fmt.Errorf("actor: %s(%d): at least %d", n.option, n.value, n.least)
		}
	}
	if c.log == nil {
		return errors.New("actor: WithLogger was given nil")
	}
	if c.order == nil {
		return errors.New("actor: WithOrder was given nil")
	}
	return nil
}

// fits refuses a budget that a device has not got.
func (c *config) fits(devices []*device.Device) error {
	for _, d := range devices {
		if has := d.Info().Memory; c.device.Budget > has {
			return fmt.Errorf("actor: WithBudget(%d): %v has %d bytes of memory", c.device.Budget, d, has)
		}
	}
	return nil
}
