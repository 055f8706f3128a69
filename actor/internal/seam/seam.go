// Package seam is where package actortest takes hold of package actor: it has the
// threads of a system run on one goroutine, in an order of its own. Programs do
// without it, and it is no part of what package actor promises.
package seam

// Runner has threads serve their actors, in place of a goroutine and an OS thread for
// each of them.
type Runner interface {
	// Start hands a thread over. It runs nothing itself. Any goroutine may call it.
	Start(Thread)
	// Wake is told, where there is room for one, when a thread that was handed over
	// was given something to do.
	Wake() chan struct{}
	// Here reports whether it is the runner's goroutine, or a coroutine of it, that calls.
	Here() bool
	// GiveWay reports whether the actor that has its turn shall stop in the middle of
	// it, to go on in another turn. It is asked at each call of the library.
	GiveWay() bool
}

// Thread is a thread that was handed over. Its methods belong to one goroutine, which
// stays on one OS thread: that of the device's context too.
type Thread interface {
	// Begin comes first. It does what the thread does once.
	Begin() error
	// Bind makes the device's context current on the OS thread: before anything else,
	// where another thread's turn was in between.
	Bind() error
	// Ready appends those who have something to do, in no order that means anything.
	Ready([]Actor) []Actor
	// All appends all actors of the thread, in no order that means anything.
	All([]Actor) []Actor
	// Serve gives one of Ready its turn, by number. It does not come back where the
	// actor's code calls runtime.Goexit: then AfterGoexit does the rest.
	Serve(number uint64)
	AfterGoexit()
	// Polls reports whether somebody waits for the GPU on the host, and Ask asks for
	// the first of them, and whether it goes on.
	Polls() bool
	Ask() bool
	// MayEnd reports whether nothing is left to be done, ever. End ends the thread.
	MayEnd() bool
	End()
}

// Actor is an actor of a thread.
type Actor interface {
	Name() string
	// Number is its place among all that the system has started.
	Number() uint64
	// Waits says what it waits for, for people. chans gives channels their names.
	Waits(chans *Chans) string
	// Busy says that the actor shall seem to run, or not any more, to others that
	// would work on its behalf: as it could where each thread is one.
	Busy(bool)
}

// Chans numbers channels in the order in which they are asked for.
type Chans struct{ numbers map[any]int }

// Number is the number of a channel, from 1.
func (c *Chans) Number(ch any) int {
	if c.numbers == nil {
		c.numbers = map[any]int{}
	}
	if c.numbers[ch] == 0 {
		c.numbers[ch] = len(c.numbers) + 1
	}
	return c.numbers[ch]
}

// Option makes the option of actor.NewSystem (an actor.Option) that has a runner take
// the threads. Package actor sets it.
var Option func(Runner) any

// Stop asks all actors of a system (an *actor.System) to end. Package actor sets it.
var Stop func(sys any)

// Woke is called when an ordinary goroutine has been woken, on the goroutine that did
// it; nil where nobody cares. Who sets it does so before any system exists.
var Woke func()
