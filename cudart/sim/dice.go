package sim

import (
	"math/rand/v2"
	"slices"
)

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
	host := slices.Index(x.may, nil)
	if d.left == 0 {
		d.mood, d.left = mood(d.rand.IntN(int(moods))), 1+d.rand.IntN(48)
		d.about = x.runs[d.rand.IntN(len(x.runs))].stream.born
	}
	d.left--
	first := func(better func(l *track) bool) int { // of the streams, from some place on
		from, found := d.rand.IntN(n), -1
		for k := range n {
			i := (from + k) % n
			if l := x.may[i]; l != nil && (found < 0 || better(l)) {
				found = i
				if better(l) {
					break
				}
			}
		}
		return found
	}
	switch {
	case d.mood == lazy:
		return max(host, 0)
	case d.mood == eager:
		return first(func(*track) bool { return true })
	case host >= 0 && d.mood != even && d.rand.IntN(4) == 0:
		return host
	case d.mood == starved:
		return first(func(l *track) bool { return l.stream.born != d.about })
	case d.mood == burst:
		return first(func(l *track) bool { return l.stream.born == d.about })
	}
	return d.rand.IntN(n)
}
