package sim

import "math/rand/v2"

// dice is the picker of a seed. It has moods, since an even chance at each step is
// a poor explorer: it never keeps one stream back for long.
type dice struct {
	rand  *rand.Rand
	mood  mood
	left  int    // choices until the mood changes
	about uint64 // the stream that the mood is about
}

type mood int

const (
	even    mood = iota // any of them
	eager               // the device first
	lazy                // the host first, and then only what it waits for
	starved             // one stream last
	burst               // one stream first
	last                // the stream made last first
	moods
)

func newDice(seed uint64) *dice {
	return &dice{rand: rand.New(rand.NewPCG(seed, 0x67707561))}
}

func (d *dice) pick(x *Steps, at place, n int) int {
	switch at.what {
	case shape:
		if d.rand.IntN(3) == 0 {
			return 0
		}
		return 1 + d.rand.IntN(n-1)
	case patient:
		return d.rand.IntN(2)
	}
	if d.left == 0 {
		d.mood, d.left = mood(d.rand.IntN(int(moods))), 1+d.rand.IntN(48)
		d.about = x.runs[d.rand.IntN(len(x.runs))].stream.born
	}
	d.left--
	first := 0 // the first track
	if at.host {
		first = 1
	}
	switch d.mood {
	case eager:
		return n - 1 - d.rand.IntN(n-first)
	case lazy:
		return 0
	case last:
		if at.host && d.rand.IntN(3) == 0 {
			return 0
		}
		best := 0
		for i, l := range x.runs {
			if l.stream.born > x.runs[best].stream.born {
				best = i
			}
		}
		return first + best
	case starved, burst:
		if at.host && d.rand.IntN(4) == 0 {
			return 0
		}
		for k := range x.runs {
			i := (k + d.rand.IntN(len(x.runs))) % len(x.runs)
			if (x.runs[i].stream.born == d.about) == (d.mood == burst) {
				return first + i
			}
		}
	}
	return d.rand.IntN(n)
}
