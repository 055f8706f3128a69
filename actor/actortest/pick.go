package actortest

import "math/rand/v2"

// picker makes the choices about actors.
type picker interface {
	// pick chooses one of n, at least 2, for the nth choice; 0 is what the calmest order would do.
	pick(k *conductor, q question, nth, n int) int
}

type question uint8

const (
	who       question = iota // has the next turn
	whoIsBusy                 // seems to be running, 0: nobody
	whether                   // the actor gives way, 0: it does not
)

// dice is the picker of a seed. It has moods: an even chance at each step never keeps
// anybody back for long.
type dice struct {
	rand  *rand.Rand
	mood  mood
	left  int    // choices until the mood changes
	about uint64 // the move that the mood is about
}

type mood int

const (
	even    mood = iota // any of them
	calm                // whoever can goes on
	starved             // one actor last
	eager               // one actor first
	moods
)

func newDice(seed uint64) *dice {
	return &dice{rand: rand.New(rand.NewPCG(seed, 0x6163746f72))}
}

func (d *dice) pick(k *conductor, q question, _, n int) int {
	switch q {
	case who:
		return d.choose(k, n)
	case whether:
		if d.mood != calm && d.rand.IntN(6) == 0 {
			return 1
		}
	case whoIsBusy:
		if d.rand.IntN(4) == 0 {
			return d.rand.IntN(n)
		}
	}
	return 0
}

func (d *dice) choose(k *conductor, n int) int {
	if d.left == 0 {
		d.mood, d.left = mood(d.rand.IntN(int(moods))), 1+d.rand.IntN(32)
		d.about = k.moves[d.rand.IntN(n)].id()
	}
	d.left--
	switch d.mood {
	case calm:
		return 0
	case starved, eager:
		from := d.rand.IntN(n)
		for i := range n {
			i = (from + i) % n
			if (k.moves[i].id() == d.about) == (d.mood == eager) {
				return i
			}
		}
	}
	return d.rand.IntN(n)
}
