package sim

import (
	"fmt"
	"strconv"
)

// Clock decides when what streams were given runs, how long it takes, and what
// the time is. It is given to a machine by [Config], and to one only.
//
// Nil is real time: every stream that has something to do runs beside the others,
// on a goroutine of its own, as fast as the processor goes. [Chaos] is an order
// that a seed chooses among all that CUDA allows, [Replay] one that was seen
// before.
type Clock interface {
	// drive makes what runs the streams of r.
	drive(r *simulator) executor
}

// Chaos is a clock under which everything happens in an order that the seed
// decides, among all that CUDA's rules allow: what is not ordered does go wrong
// for some seed.
//
// The device runs on the goroutines that call the runtime, one at a time. At each
// call it makes a number of steps, from none to all that there are. A copy or a
// fill is several steps of uneven sizes, in any order. A kernel reads its arguments
// at once or by and by, runs, and its writes are seen at once, later, or by and
// by. Whoever waits is made to see the device work, so nothing is ever done that
// nobody asks for, and a query in vain brings what it asks about nearer.
//
// The same seed and the same calls in the same order make the same steps. Where
// several threads call the runtime that order is theirs, and so not the seed's.
//
// Arguments of a launch that are more than 4 MiB together are not torn. The time of
// the clock is one microsecond for each call and step, and what kernels spend. A
// kernel that calls runtime.Goexit ends the goroutine whose call made it run. A
// thread that watches pinned memory and calls nothing sees nothing happen.
func Chaos(seed uint64) *Steps { return newSteps(newDice(seed)) }

// EnvChaos names the environment variable that gives every machine that is given no
// clock the clock of Chaos by a seed, so that any test runs under it:
//
//	GPUACTOR_SIM_CHAOS=17 go test ./...
const EnvChaos = "GPUACTOR_SIM_CHAOS"

func clockOf(seed string) (Clock, error) {
	if seed == "" {
		return nil, nil
	}
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("sim: %s=%q is no seed: it is a number from 0", EnvChaos, seed)
	}
	return Chaos(n), nil
}

// Replay is a clock that makes the choices of a schedule, and where that says
// nothing those of the calmest device: nothing runs until somebody waits for it,
// then in order and whole.
func Replay(s Schedule) *Steps {
	x := newSteps(s)
	x.halves = s.halves
	return x
}
