// Package device owns what a GPU has: its context, streams, events, memory and
// kernels.
//
// The one idea is the [Point]: submissions of a stream are numbered, and a point
// (stream, number) means everything that the stream was given up to there. All
// ordering is said in points. An event is only how a point is shown to the
// driver; it is recorded where something leaves a stream, and kept until nobody
// can need it.
//
//	devs, err := device.Open(rt, device.Options{})
//	s, err := devs[0].NewStream("fill")   // on a thread with the context current
//	err = s.Launch(owner, fill, device.Linear(n), args...)
//	p, err := s.Flush(true)               // submitted, and p is recorded
//	err = other.WaitFor(p, "the data")    // other's stream waits; no CPU does
//
// Programs use package actor, which gives each stream a goroutine, a locked OS
// thread, and the current context that the methods here ask for.
//
// # What a program needs of it
//
//   - to declare kernels: [NewModule], [Module.Kernel], [In], [Out], [InOut], [Scalar]
//   - to launch them, by actor.Stream.Launch: [Linear], [Blocks] or a [Grid], and the
//     scalars [U8] to [F64]; memory comes from package buffer
//   - a [Device] as the place for an actor, and for what it tells: [Device.Info],
//     [Device.Name], [Device.Index], [Device.Memory], [Device.HostBytes], and
//     [Device.Load], to compile ahead of the work
//   - the errors: [*LaunchError], [*SubmitError], [*BudgetError], [*FaultedError]
//
// All else is for packages that issue commands or own memory, as actor, buffer and
// transfer do: [Stream], [Point], [Block], [HostBlock], [Memory], [Written],
// [MemoryArg], [PeerCopy], [Open], and the methods of Device that bind, allocate,
// reserve and poll. They have rules about threads that a program need not know.
package device

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
)

// Options say what [Open] opens.
type Options struct {
	Max     int    // at most this many devices; 0: all
	Virtual int    // this many contexts on device 0 in place of devices; 0: off
	Budget  uint64 // bytes of device memory for each device; 0: nine tenths of what is free
	Trace   Trace  // told of what streams are given; nil: nobody
}

// Device is one GPU as this process uses it: a context and what is made in it.
// With [Options.Virtual] several devices are contexts of the one GPU. Methods may
// be called from any goroutine unless they say otherwise.
type Device struct {
	rt      cudart.Runtime
	index   int
	info    cudart.DeviceInfo
	ctx     cudart.Context
	primary bool
	trace   Trace
	tells   tells

	mem    memory
	host   hostPool
	events eventPool
	fns    functions

	retired retired
	reach   []bool // by index: whether copies to or from that device take the peer path

	streams atomic.Int64 // made and not closed
	working atomic.Int32 // threads; see Working
	procs   int          // GOMAXPROCS when the device was opened
	turns   turnstile
}

// Open opens the devices of a runtime, their contexts and their memory pools,
// and opens the peer paths between them, once. Contexts are the primary ones,
// which other libraries of the process share, except for Virtual.
func Open(rt cudart.Runtime, o Options) ([]*Device, error) {
	infos, err := rt.Devices()
	if err != nil {
		return nil, fmt.Errorf("device: list devices: %w", err)
	}
	if len(infos) == 0 {
		return nil, fmt.Errorf("device: the runtime shows no device: %w", cudart.ErrNoDevices)
	}
	if o.Virtual > 0 {
		first := infos[0]
		infos = make([]cudart.DeviceInfo, o.Virtual)
		for i := range infos {
			infos[i] = first
		}
	}
	if o.Max > 0 && len(infos) > o.Max {
		infos = infos[:o.Max]
	}
	devs := make([]*Device, 0, len(infos))
	for i, info := range infos {
		d, err := open(rt, i, info, o, len(infos))
		if err != nil {
			return nil, errors.Join(err, CloseAll(devs))
		}
		devs = append(devs, d)
	}
	if err := connect(devs); err != nil {
		return nil, errors.Join(err, CloseAll(devs))
	}
	return devs, nil
}

func open(rt cudart.Runtime, index int, info cudart.DeviceInfo, o Options, of int) (*Device, error) {
	d := &Device{rt: rt, index: index, info: info, primary: o.Virtual == 0, trace: o.Trace, tells: tellsOf(rt), procs: runtime.GOMAXPROCS(0)}
	var err error
	if d.primary {
		d.ctx, err = rt.RetainPrimary(info.Ordinal)
	} else {
		d.ctx, err = rt.CreateContext(info.Ordinal)
	}
	if err != nil {
		return nil, fmt.Errorf("device: context of %v: %w", d, err)
	}
	d.events.d, d.host.d, d.mem.d = d, d, d
	err = d.Do(func() error {
		if err := d.mem.source.open(d); err != nil {
			return err
		}
		budget := o.Budget
		if budget == 0 {
			free, _, err := rt.MemInfo(d.ctx)
			if err != nil {
				return fmt.Errorf("device: free memory of %v: %w", d, err)
			}
			budget = free / 10 * 9
			if !d.primary {
				budget /= uint64(of)
			}
		}
		d.mem.open(budget)
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, d.Do(d.mem.source.close), d.release())
	}
	return d, nil
}

// connect opens the peer path of each ordered pair that claims one. It is done
// once and never undone: access that is toggled while copies run is not safe.
func connect(devs []*Device) error {
	for _, d := range devs {
		d.reach = make([]bool, len(devs))
		for _, p := range devs {
			switch {
			case d.info.Ordinal == p.info.Ordinal:
				d.reach[p.index] = true // contexts of one GPU share its memory
			default:
				can, err := d.rt.CanAccessPeer(d.info.Ordinal, p.info.Ordinal)
				if err != nil {
					return fmt.Errorf("device: peer access of %v to %v: %w", d, p, err)
				}
				if !can {
					continue
				}
				if err := d.Do(func() error { return d.rt.EnablePeer(d.ctx, p.ctx) }); err != nil {
					return fmt.Errorf("device: enable peer access of %v to %v: %w", d, p, err)
				}
				if err := p.Do(func() error { return p.rt.AllowPeer(p.ctx, p.mem.source.pool, d.info.Ordinal) }); err != nil {
					return fmt.Errorf("device: let %v use the pool of %v: %w", d, p, err)
				}
				d.reach[p.index] = true
			}
		}
	}
	return nil
}

// Do runs f on a locked thread with the device's context current, and restores
// the thread's context. It is for set-up; stream actors have their own thread.
func (d *Device) Do(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := d.rt.Current()
	if err != nil {
		return fmt.Errorf("device: current context: %w", err)
	}
	if before == d.ctx {
		return f()
	}
	if err := d.rt.SetCurrent(d.ctx); err != nil {
		return fmt.Errorf("device: make %v current: %w", d, err)
	}
	return errors.Join(f(), d.rt.SetCurrent(before))
}

// Bind makes the device's context current on the calling thread, which the
// caller has locked.
func (d *Device) Bind() error {
	if err := d.rt.SetCurrent(d.ctx); err != nil {
		return fmt.Errorf("device: make %v current: %w", d, err)
	}
	return nil
}

// Unbind leaves the calling thread without a context.
func (d *Device) Unbind() error { return d.rt.SetCurrent(0) }

// Device is d itself: a device is a place for an actor to run.
func (d *Device) Device() *Device { return d }

// Index is the device's number among those that were opened together.
func (d *Device) Index() int { return d.index }

// Info is what does not change about the GPU.
func (d *Device) Info() cudart.DeviceInfo { return d.info }

// Name tells the device from its siblings: the GPU's name with the index.
func (d *Device) Name() string { return fmt.Sprintf("%s [%d]", d.info.Name, d.index) }

// String is the device in messages: "device 1 (NVIDIA H200)".
func (d *Device) String() string { return fmt.Sprintf("device %d (%s)", d.index, d.info.Name) }

// Runtime is the runtime that the device belongs to.
func (d *Device) Runtime() cudart.Runtime { return d.rt }

// Context is the device's context.
func (d *Device) Context() cudart.Context { return d.ctx }

// Reaches reports whether copies between d and p can take the peer path, in the
// direction of d addressing p.
func (d *Device) Reaches(p *Device) bool { return p.index < len(d.reach) && d.reach[p.index] }

// Streams is the number of streams made and not yet closed.
func (d *Device) Streams() int { return int(d.streams.Load()) }

// Close waits for the work of the context and frees everything made in it. No
// stream of it may be in use. Where the GPU has faulted nothing can be freed, and one
// error, a [*FaultedError], says so.
func (d *Device) Close() error {
	tried := false
	free := func() error {
		tried = true
		return errors.Join(
			d.rt.SynchronizeContext(d.ctx),
			d.mem.close(),
			d.host.close(),
			d.closeEvents(),
			d.fns.close(d),
		)
	}
	err := d.Do(free)
	if !tried { // the context could not be made current: once more, or all of it would be left
		err = errors.Join(err, d.Do(free))
	}
	if err = once(errors.Join(err, d.release())); err != nil {
		return fmt.Errorf("device: close %v: %w", d, err)
	}
	return nil
}

func (d *Device) release() error {
	if d.primary {
		return d.rt.ReleasePrimary(d.info.Ordinal)
	}
	return d.rt.DestroyContext(d.ctx)
}

// CloseAll closes devices that were opened together: no memory of one is freed before
// the work of all is done, since streams of one may use another's.
func CloseAll(devs []*Device) error {
	for _, d := range devs {
		_ = d.Do(func() error { return d.rt.SynchronizeContext(d.ctx) }) // Close says what is wrong with it
	}
	var errs []error
	for _, d := range devs {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

var nextID struct {
	sync.Mutex
	n uint32
}
