package main

import (
	"slices"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/actor/actortest"
)

// A hundred orders of the actors and of two devices, and the race checker in each. A
// failure prints the command that repeats it.
func TestSums(t *testing.T) {
	actortest.Seeds(t, 100, func(t testing.TB, sys *actor.System) {
		got, err := sums(t.Context(), sys, [][]float32{{1, 2}, {3, 4}, {5, 6}})
		if want := []float32{5, 25, 61}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	})
}
