package transfer

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// The pinned memory and the slice are nobody's but the caller's once a crew is
// closed: those who help have ended what they took, and take nothing any more.
func TestACrewThatIsClosedTouchesNothing(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	const n, size = 64, 1 << 12
	for range 50 {
		src, dst := make([]int, n*size), make([]int, n*size)
		c := newCrew[int](n, 3)
		for i := range n {
			c.add(dst[i*size:(i+1)*size], src[i*size:(i+1)*size])
		}
		c.help()
		c.close()
		for i := range src { // what the race detector sees, and everybody where it comes too late
			src[i], dst[i] = 1, dst[i]+2
		}
		for i, v := range dst {
			if v != 2 {
				t.Fatalf("word %d is %d after the crew was closed", i, v)
			}
		}
	}
}

// Closing waits for a block that somebody is copying.
func TestClosingACrewWaits(t *testing.T) {
	c := newCrew[int](2, 0)
	c.add(nil, nil)
	c.next.Store(1) // somebody has taken it
	var closed atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.close()
		closed.Store(true)
	}()
	for range 1000 {
		runtime.Gosched()
		if closed.Load() {
			t.Fatal("it was closed while a block is being copied")
		}
	}
	c.moves[0].done.Store(true)
	<-ended
}

// Nobody is started for what the caller copies alone, nor where the processors are
// needed; and there are never more in the process than may be.
func TestHelpersAreFew(t *testing.T) {
	for procs, want := range map[int]int32{1: 0, 2: 0, 3: 1, 4: 1, 8: 2, 16: 4, 128: 32} {
		if got := mayHelp(procs); got != want {
			t.Errorf("%d may help on %d processors, want %d", got, procs, want)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	started := func(c *crew[int], blocks int) int32 {
		for range blocks {
			c.add(nil, nil)
		}
		return c.live.Load()
	}
	one, two, three := newCrew[int](1, 3), newCrew[int](1<<20, 3), newCrew[int](1<<20, 3)
	if n := started(one, 1); n != 0 {
		t.Errorf("%d were started for one block", n)
	}
	if n := started(two, 100) + started(three, 100); n > 2 {
		t.Errorf("%d help at once on 8 processors", n)
	}
	for _, c := range []*crew[int]{one, two, three} {
		c.close()
	}
	for helping.Load() > 0 {
		runtime.Gosched()
	}
	if n := started(newCrew[int](4, helpersFor(0)), 4); n != 0 {
		t.Errorf("%d were started by a crew of one", n)
	}
}
