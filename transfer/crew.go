package transfer

import (
	"runtime"
	"sync/atomic"
)

// crew copies blocks of ordinary memory, in the order in which they were added: the
// goroutine that adds them does, by help, and beside it a few others, which are
// started when there is more to copy than one can, and end when there has been
// nothing for a while. One core copies 6–16 GB/s, where PCIe takes 55.
type crew[T any] struct {
	moves       []move[T]
	added, next atomic.Int64 // moves below added may be taken, those below next are
	most        int32        // goroutines beside the one that adds
	live        atomic.Int32
	pause       func() // in tests: between taking a move and making it
}

type move[T any] struct {
	dst, src []T
	done     atomic.Bool
}

// helping is how many goroutines of all crews of the process there are.
var helping atomic.Int32

// mayHelp decides how many there may be at once: none where the thread that adds and
// the one that it works for have the processors.
func mayHelp(procs int) int32 {
	if procs <= 2 {
		return 0
	}
	return int32(max(procs/4, 1))
}

// helpersFor is how many goroutines a crew may have.
func helpersFor(most int) int32 { return min(int32(most), mayHelp(runtime.GOMAXPROCS(0))) }

// newCrew makes a crew for n blocks.
func newCrew[T any](n int, most int32) *crew[T] {
	return &crew[T]{moves: make([]move[T], n), most: most}
}

// add adds a block that may be copied from now on.
func (c *crew[T]) add(dst, src []T) {
	k := c.added.Load()
	c.moves[k].dst, c.moves[k].src = dst, src
	c.added.Store(k + 1)
	if k+1-c.next.Load() > 1 && c.live.Load() < c.most {
		c.hire()
	}
}

func (c *crew[T]) hire() {
	if helping.Add(1) > mayHelp(runtime.GOMAXPROCS(0)) {
		helping.Add(-1)
		return
	}
	c.live.Add(1)
	go c.work()
}

// boredom is how often a goroutine finds nothing to do before it ends: some 100 µs.
const boredom = 500

func (c *crew[T]) work() {
	defer helping.Add(-1)
	defer c.live.Add(-1)
	for idle := 0; idle < boredom && c.next.Load() < int64(len(c.moves)); idle++ {
		if c.help() {
			idle = 0
		}
		runtime.Gosched()
	}
}

// help copies the next block; false where there is none that nobody has taken.
func (c *crew[T]) help() bool {
	for {
		i := c.next.Load()
		if i >= c.added.Load() {
			return false
		}
		if c.next.CompareAndSwap(i, i+1) {
			m := &c.moves[i]
			if c.pause != nil {
				c.pause()
			}
			copy(m.dst, m.src)
			m.done.Store(true)
			return true
		}
	}
}

// finished reports whether block i has been copied.
func (c *crew[T]) finished(i int) bool { return c.moves[i].done.Load() }

// await waits for block i, which somebody has taken: for less than a block takes.
// The goroutine is one that is locked to its thread, and gives way seldom: that
// would cost it more than the wait.
func (c *crew[T]) await(i int) {
	for spins := 1; !c.finished(i); spins++ {
		if spins%(1<<14) == 0 {
			runtime.Gosched()
		}
	}
}

// close has nobody take another block, and waits for those that are being copied:
// behind it nobody touches the memory.
func (c *crew[T]) close() {
	for i := range c.next.Swap(int64(len(c.moves))) {
		c.await(int(i))
	}
}
