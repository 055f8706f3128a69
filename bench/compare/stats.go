package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/gpuactor/gpuactor/bench"
)

// fullRounds is how many interleaved rounds a result has at least.
const fullRounds = 11

// samples are the values of each case and side, by round: NaN where one failed.
type samples struct {
	values map[[2]string][]float64
	units  map[[2]string]string
}

func newSamples() *samples {
	return &samples{map[[2]string][]float64{}, map[[2]string]string{}}
}

func (s *samples) add(name, side string, round int, r bench.Result) {
	id := [2]string{name, side}
	v := s.values[id]
	for len(v) < round {
		v = append(v, math.NaN())
	}
	if r.Error != "" {
		r.Value = math.NaN()
	} else {
		s.units[id] = r.Unit
	}
	s.values[id] = append(v, r.Value)
}

// of are the values of a side of a case, by round.
func (s *samples) of(name, side string) []float64 { return s.values[[2]string{name, side}] }

func (s *samples) unit(name, side string) string { return s.units[[2]string{name, side}] }

// interleave runs every side of every case once, then again, round by round, so
// that what changes with time changes for all. The order of a case's sides turns
// from round to round: none is always the one that comes first. It returns what is
// missing; after a side has failed twice it is not asked again.
func interleave(cases []benchCase, rounds int, run func(name, side string) bench.Result, s *samples, next func(round int) bool) (missing []string) {
	failed := map[[2]string]int{}
	for round := range rounds {
		if !next(round) {
			return append(missing, fmt.Sprintf("ended after %d rounds of %d", round, rounds))
		}
		for _, c := range cases {
			n := len(c.sides)
			for i := range n {
				side := c.sides[(i+round)%n]
				id := [2]string{c.name, side}
				if failed[id] >= 2 {
					continue
				}
				r := run(c.name, side)
				s.add(c.name, side, round, r)
				if r.Error != "" {
					failed[id]++
					missing = append(missing, fmt.Sprintf("round %d: %s of %s: %s", round+1, side, c.name, r.Error))
				}
			}
		}
	}
	return missing
}

// present are the values that are there.
func present(v []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(v), math.IsNaN)
}

// median of what is there; NaN of nothing.
func median(v []float64) float64 {
	v = present(v)
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// ratios are the per-round ratios: rounds in which either is missing give none.
func ratios(us, them []float64) []float64 {
	var all []float64
	for i := range min(len(us), len(them)) {
		if r := us[i] / them[i]; !math.IsNaN(r) && !math.IsInf(r, 0) {
			all = append(all, r)
		}
	}
	return all
}

// combine makes one series of several, round by round.
func combine(all [][]float64, f func(a, b float64) float64) []float64 {
	if len(all) == 0 {
		return nil
	}
	out := slices.Clone(all[0])
	for _, v := range all[1:] {
		out = out[:min(len(out), len(v))]
		for i := range out {
			out[i] = f(out[i], v[i])
		}
	}
	return out
}
