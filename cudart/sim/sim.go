// Package sim is a CUDA device made of Go: it stands in for the driver where
// there is no GPU, and is never kinder than the driver is.
//
// The idea: a stream is a queue of commands and two numbers, how many it was
// given and how many it has done. A record is the pair (stream, commands given
// so far), a wait holds the stream at its head until another stream has done
// that many. Nothing else orders anything. Submitting only checks, numbers and
// queues; an executor, which a [Clock] makes, decides when the next command of a
// stream runs: a goroutine for each stream that has something to do, or one step at a
// time in an order that is chosen ([Chaos], [Replay], [Explore]), or by virtual time.
//
// What is like CUDA: streams run in order and beside each other, events and
// pools, contexts current on a thread, peer access as a directed relation, late
// and sticky errors. Memory is real bytes behind made-up addresses, outside
// Go's heap, and takes only what was written. A kernel is the Go function beside
// the PTX; it runs the whole grid in one call. PTX is read for its signatures,
// and never run.
//
// What is not: time, and the engines' limits, but for the virtual clock ([Virtual]), where both
// are as a [Topology] says; else a kernel takes as long as its Go function. Commands queue without bound, where the driver makes the submitter wait
// after about a thousand. A thread that ends without SetCurrent(0) leaves its entry behind, and the next thread with its
// number inherits it. On systems other than Linux and Windows there is no check
// that a context is current, and Current tells what was set last anywhere.
// Copies between ranges that overlap are undefined, as in CUDA.
//
// Where it is harder on a program than the driver may be: a range must lie
// inside one allocation to the byte; new memory is never zero at its start;
// EnablePeer does not open pool memory, only AllowPeer does; a context takes its
// pinned memory along when it is destroyed.
//
// What goes wrong is said by rules, a [Fault] each: in [Config], or by [Inject] while
// the machine runs. Whoever tests a program can have any call fail, a link lie, a
// kernel trap, memory run out, a device fall off.
//
// What the code relies on:
//
//	I1  A command runs only after those before it in its stream have completed,
//	    on one goroutine at a time, and never before its submission is queued whole.
//	I2  A wait points at work that was submitted before it, so waits cannot form
//	    a circle.
//	I3  A stream that is not active has an empty queue; exactly one of: its
//	    executor has it, another stream's progress has it, or it is not active.
//	I4  done is stored before watched is loaded; a waiter stores watched before it
//	    loads done. So no wake-up is lost. The same holds for lost.
//	I5  Memory is reused or unmapped only when it was freed in stream order and
//	    no running command holds a pin on it, so nothing here can touch
//	    memory that is gone, whatever the user did.
//	I6  Once lost is set no queued command runs; each stream drops its own, so
//	    nobody waits for ever.
//
// Locks are taken in this order: stream, event, memory, span. A stream's
// progress has its own, a leaf.
package sim

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// Config says what the simulated machine has. The zero value is two devices
// of 8 GiB that reach each other.
type Config struct {
	Devices     int    // 0: 2; at most 1024
	Memory      uint64 // bytes of each device, counted and not reserved; 0: 8 GiB
	CopyEngines int    // as DeviceInfo reports them; 0: 3

	// NoPeer says that kernels of device cannot address memory of peer. Nil
	// means that all can. Peer copies work all the same.
	NoPeer func(device, peer int) bool

	Clock Clock // nil: real time, or Chaos by the seed that GPUACTOR_SIM_CHAOS names

	// Topology is a machine, with what things cost on it: devices, memory, copy engines,
	// and who reaches whom are those of it, and not said here too. Only the virtual clock
	// asks for the costs; without a topology it takes those of the H200, with a fast way
	// between any two devices.
	Topology *Topology

	// NoBytes has copies, fills and kernels do nothing but take their time, for machines
	// and transfers so large that moving the bytes would take too long.
	NoBytes bool

	Faults []Fault // what goes wrong from the start; see also Inject
}

const maxDevices = 1024

func init() {
	cudart.Register("sim", open)
}

// open is New for a program that has its runtime from the environment.
func open() (cudart.Runtime, error) {
	if _, err := clockOf(os.Getenv(EnvChaos)); err != nil {
		return nil, err
	}
	return New(Config{}), nil
}

// New makes a simulated machine. Each one is apart from all others: handles and
// addresses of one mean nothing in another. A negative count, or more than 1024
// devices, panics. Close ends its goroutines and unmaps its memory.
func New(c Config) cudart.Runtime {
	if t := c.Topology; t != nil {
		if c.Devices != 0 || c.Memory != 0 || c.CopyEngines != 0 || c.NoPeer != nil {
			panic("sim: a topology, and devices beside it")
		}
		t.check()
		c.Devices, c.NoPeer = len(t.GPUs), t.NoPeer
	}
	if c.Devices == 0 {
		c.Devices = 2
	}
	if c.Memory == 0 {
		c.Memory = 8 << 30
	}
	if c.CopyEngines == 0 {
		c.CopyEngines = 3
	}
	if c.Devices < 0 || c.Devices > maxDevices || c.CopyEngines < 0 || c.Memory > maxMemory {
		panic(fmt.Sprintf("sim: no such machine: %+v", c))
	}
	r := &simulator{noPeer: c.NoPeer, noBytes: c.NoBytes, streams: map[*stream]struct{}{}}
	if r.topology = c.Topology; r.topology == nil {
		r.topology = like(c)
	}
	if c.Clock == nil {
		var err error
		if c.Clock, err = clockOf(os.Getenv(EnvChaos)); err != nil {
			panic(err.Error())
		}
	}
	if c.Clock == nil {
		r.exec = &goroutines{realTime: realTime{time.Now()}, idle: make(chan struct{}, 1)}
	} else {
		r.exec = c.Clock.drive(r)
	}
	r.contextTable.kind, r.streamTable.kind, r.eventTable.kind = 1, 2, 3
	r.poolTable.kind, r.moduleTable.kind, r.functionTable.kind = 4, 5, 6
	r.launchTable.kind = 7
	for i := range c.Devices {
		r.devices = append(r.devices, newDevice(i, c))
	}
	r.startFaults(c.Faults)
	return r
}

// simulator is the Runtime.
type simulator struct {
	noPeer   func(device, peer int) bool
	noBytes  bool
	topology *Topology
	exact    bool     // a wait is one even for what is done
	virtual  *virtual // nil in any other time; also exec
	exec     executor
	devices  []*device
	threads  threads
	pinned   pinned
	lost     atomic.Pointer[loss]                     // set once: nothing runs any more
	audit    atomic.Pointer[func(cudart.Misdeclared)] // nil: nobody wants to know
	faulty

	contextTable  table[context]
	streamTable   table[stream]
	eventTable    table[event]
	poolTable     table[pool]
	moduleTable   table[module]
	functionTable table[function]
	launchTable   table[launchGraph]

	mu      sync.Mutex // guards what is below, and contexts' coming and going
	streams map[*stream]struct{}
	born    uint64 // streams ever made
	closed  bool
}

func (r *simulator) Name() string { return "sim" }

// DriverVersion is the version of CUDA whose behaviour is simulated.
func (r *simulator) DriverVersion() int { return 13000 }

func (r *simulator) Now() time.Duration { return r.exec.now() }

// Close waits for commands that are running, drops those queued, and unmaps
// all memory, pinned memory too.
func (r *simulator) Close() error {
	r.mu.Lock()
	closed := r.closed
	r.closed = true
	r.mu.Unlock()
	if closed {
		return nil
	}
	refused := r.refusal(closeCall, Any)
	r.lose(&loss{code: cudart.ErrDeinitialized, text: "the runtime is closed"})
	r.exec.close()
	for _, d := range r.devices {
		d.memory.close()
	}
	r.pinned.close()
	return refused
}
