package sim

// When says which of the happenings that a rule is about the rule acts on: all of
// them, where it is zero. Happenings are counted for each rule, from 1.
type When struct {
	From   int     // the first that it may act on; 0 is 1
	Times  int     // how often it acts at most; 0 is without bound
	Chance float64 // with which it acts where it may, decided by Seed; 0 is always
	Seed   uint64  // what it decides for the nth happening depends on Seed and n alone
}

// Nth acts on the nth happening only, counted from 1.
func Nth(n int) When { return When{From: n, Times: 1} }

// From acts on the nth happening and all after it.
func From(n int) When { return When{From: n} }

// WithChance acts on each happening with a probability of p, as the seed decides.
func WithChance(p float64, seed uint64) When { return When{Chance: p, Seed: seed} }

// acts decides about the nth happening, of a rule that has acted some times.
func (w When) acts(n, acted int) bool {
	switch {
	case n < w.From, w.Times > 0 && acted >= w.Times:
		return false
	case w.Chance == 0:
		return true
	}
	return float64(mix(w.Seed, uint64(n))>>11)/(1<<53) < w.Chance
}

func (w When) valid() bool { return w.From >= 0 && w.Times >= 0 && w.Chance >= 0 && w.Chance <= 1 }

// mix is 64 random bits that depend on seed and n alone (SplitMix64).
func mix(seed, n uint64) uint64 {
	z := seed + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
