package sim

import "math"

// agenda is a heap of streams by what happens to them next: the earliest first, of
// those at one time the stream made first.
type agenda []*course

func (a agenda) less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].id < a[j].id
}

func (a agenda) swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i+1, j+1
}

func (a agenda) up(i int) {
	for i > 0 && a.less(i, (i-1)/2) {
		a.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (a agenda) down(i int) {
	for {
		least := i
		for k := 2*i + 1; k <= 2*i+2 && k < len(a); k++ {
			if a.less(k, least) {
				least = k
			}
		}
		if least == i {
			return
		}
		a.swap(i, least)
		i = least
	}
}

// pop takes the first, which there is.
func (a *agenda) pop() *course {
	c := (*a)[0]
	last := len(*a) - 1
	a.swap(0, last)
	(*a)[last] = nil
	*a = (*a)[:last]
	a.down(0)
	c.place = 0
	return c
}

// first is the time of the first, math.MaxInt64 where there is none.
func (a agenda) first() int64 {
	if len(a) == 0 {
		return math.MaxInt64
	}
	return a[0].at
}

// endOfTime is 146 years. What takes longer ends then, and what comes behind it.
const endOfTime = 1 << 62

// happens puts a stream into the agenda, or moves it there. A sum of two times, neither
// behind the end, is negative where it is too large.
func (v *virtual) happens(c *course, t int64) {
	if t < 0 || t > endOfTime {
		t = endOfTime
	}
	c.at = t
	if c.place == 0 {
		v.agenda = append(v.agenda, c)
		c.place = len(v.agenda)
		v.agenda.up(c.place - 1)
		return
	}
	v.agenda.up(c.place - 1)
	v.agenda.down(c.place - 1)
}
