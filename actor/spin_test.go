package actor

import (
	"testing"
	"time"
)

func TestNextSpin(t *testing.T) {
	for _, c := range []struct {
		name  string
		p     Policy
		limit time.Duration
		hit   bool
		want  time.Duration
	}{
		{"frugal never spins", Frugal, longestSpin, true, 0},
		{"latency always spins for long", Latency, shortestSpin, false, latencySpin},
		{"balanced spins longer where it pays", Balanced, 8 * time.Microsecond, true, 16 * time.Microsecond},
		{"but not for ever", Balanced, longestSpin, true, longestSpin},
		{"balanced spins shorter where it does not", Balanced, 16 * time.Microsecond, false, 8 * time.Microsecond},
		{"but keeps looking", Balanced, shortestSpin, false, shortestSpin},
	} {
		if got := nextSpin(c.p, c.limit, c.hit); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAfterPark(t *testing.T) {
	for _, c := range []struct {
		name          string
		p             Policy
		limit, parked time.Duration
		want          time.Duration
	}{
		{"a short park was worth a spin", Balanced, shortestSpin, 50 * time.Microsecond, longestSpin},
		{"a long one was not", Balanced, shortestSpin, time.Second, shortestSpin},
		{"frugal never spins", Frugal, 0, time.Microsecond, 0},
		{"latency spins for long as it is", Latency, latencySpin, time.Microsecond, latencySpin},
	} {
		if got := afterPark(c.p, c.limit, c.parked); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMaySpin(t *testing.T) {
	for procs, want := range map[int]int32{1: 0, 2: 0, 3: 1, 4: 2, 16: 8, 128: 8} {
		if got := maySpin(procs); got != want {
			t.Errorf("on %d processors %d threads may spin, want %d", procs, got, want)
		}
	}
}

func TestPauseAfter(t *testing.T) {
	for _, c := range []struct {
		name         string
		p            Policy
		waited, want time.Duration
	}{
		{"a short wait is asked for often", Balanced, 0, 10 * time.Microsecond},
		{"a longer one less often", Balanced, 12800 * time.Microsecond, 50 * time.Microsecond},
		{"but at least so often", Balanced, time.Hour, time.Millisecond},
		{"latency asks more often", Latency, 12800 * time.Microsecond, 50 * time.Microsecond},
		{"and at the end, too", Latency, time.Hour, 250 * time.Microsecond},
		{"frugal asks less often", Frugal, 12800 * time.Microsecond, 800 * time.Microsecond},
		{"also at first", Frugal, 0, 20 * time.Microsecond},
		{"and at last", Frugal, time.Hour, 5 * time.Millisecond},
	} {
		if got := pauseAfter(c.p, c.waited); got != c.want {
			t.Errorf("%s: after %v %v, want %v", c.name, c.waited, got, c.want)
		}
	}
}

func TestMayNap(t *testing.T) {
	for procs, want := range map[int]int32{1: 0, 2: 1, 4: 2, 16: 8} {
		if !canNap {
			want = 0
		}
		if got := mayNap(procs); got != want {
			t.Errorf("on %d processors %d threads may nap, want %d", procs, got, want)
		}
	}
}
