package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gpuactor/gpuactor/bench"
)

var nan = math.NaN()

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{
		{[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2.5}, {[]float64{nan, 7, nan}, 7},
	} {
		if got := median(c.v); got != c.want {
			t.Errorf("median of %v is %v, want %v", c.v, got, c.want)
		}
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing is %v", got)
	}
}

func fill(s *samples, name, side, unit string, values ...float64) {
	for i, v := range values {
		r := bench.Result{Case: name, Side: side, Unit: unit, Value: v}
		if math.IsNaN(v) {
			r.Error = "failed"
		}
		s.add(name, side, i, r)
	}
}

// The ratio is the median of the ratios of each round, which is not the ratio of the
// medians: what slows both sides down in a round cancels out.
func TestRatioIsByRound(t *testing.T) {
	s := newSamples()
	fill(s, "x", "go", "ns", 10, 30, 20)
	fill(s, "x", "c", "ns", 10, 10, 40)
	g := atMost("go", 1, "c")
	got, rounds := g.ratio("x", s)
	if got != 1 || rounds != 3 {
		t.Errorf("ratio %v of %d rounds; the ratio of the medians is 2", got, rounds)
	}
}

func TestGoals(t *testing.T) {
	s := newSamples()
	fill(s, "time", "go", "ns", 110, 110, 110)
	fill(s, "time", "c-one", "ns", 100, 100, nan)
	fill(s, "time", "c-two", "ns", 50, 50, 50)
	fill(s, "time", "torch", "ns", 660, 660, 660)
	fill(s, "time", "none", "ns", 0, 0, 0)
	fill(s, "rate", "go", "M/s", 8, 8, 8)
	fill(s, "rate", "c-one", "M/s", 10, 10, 10)
	fill(s, "rate", "c-two", "M/s", 5, 5, 5)
	for _, c := range []struct {
		name   string
		g      goal
		ratio  float64
		rounds int
		met    bool
	}{
		{"time", atMost("go", 1.1, "c-one"), 1.1, 2, true},
		{"time", atMost("go", 1.09, "c-one"), 1.1, 2, false},
		{"time", atMost("go", 2, "c-one", "c-two"), 2.2, 2, false}, // the faster one is the opponent
		{"time", goal{us: "go", them: []string{"c-one"}, plus: 10, bound: 1}, 1, 2, true},
		{"time", goal{us: "go", them: []string{"c-one"}, plus: 9, bound: 1}, 110.0 / 109, 2, false},
		{"time", times("go", 6, "torch"), 6, 3, true},
		{"time", times("go", 6.1, "torch"), 6, 3, false},
		{"time", absolute("go", 110), 1, 3, true},
		{"time", absolute("go", 100), 1.1, 3, false},
		{"time", absolute("none", 0), 0, 3, true},
		{"time", absolute("go", 0), 110, 3, false},
		{"rate", atLeast("go", 0.8, "c-one", "c-two"), 0.8, 3, true},
		{"rate", atLeast("go", 0.81, "c-one", "c-two"), 0.8, 3, false},
		{"rate", atLeast("go", 0.8, "time/c-one"), 0.08, 2, false},
	} {
		ratio, rounds := c.g.ratio(c.name, s)
		if math.Abs(ratio-c.ratio) > 1e-9 || rounds != c.rounds || c.g.met(ratio) != c.met {
			t.Errorf("%s, %s: ratio %v of %d rounds, met %v; want %v of %d, %v",
				c.name, c.g.text("ns"), ratio, rounds, c.g.met(ratio), c.ratio, c.rounds, c.met)
		}
	}
}

func TestInterleave(t *testing.T) {
	cases := []benchCase{{name: "a", sides: []string{"x", "y"}}, {name: "b", sides: []string{"x"}}}
	var order []string
	run := func(name, side string) bench.Result {
		order = append(order, name+side)
		return bench.Result{Case: name, Side: side, Unit: "ns", Value: float64(len(order))}
	}
	missing := interleave(cases, 2, run, newSamples(), func(int) bool { return true })
	if want := []string{"ax", "ay", "bx", "ay", "ax", "bx"}; !slices.Equal(order, want) || missing != nil {
		t.Errorf("order %v, want %v; missing %v", order, want, missing)
	}
}

func TestInterleaveGivesUp(t *testing.T) {
	cases := []benchCase{{name: "a", sides: []string{"x", "y"}}}
	asked := 0
	run := func(name, side string) bench.Result {
		r := bench.Result{Case: name, Side: side, Unit: "ns", Value: 1}
		if side == "y" {
			asked++
			r.Error = errors.New("broken").Error()
		}
		return r
	}
	s := newSamples()
	missing := interleave(cases, 5, run, s, func(int) bool { return true })
	if asked != 2 || len(missing) != 2 {
		t.Errorf("asked %d times, missing %v", asked, missing)
	}
	if got := present(s.of("a", "y")); len(got) != 0 {
		t.Errorf("a round that failed has the value %v", got)
	}
	if n := len(s.of("a", "x")); n != 5 {
		t.Errorf("the other side ran %d times", n)
	}
}

func TestInterleaveInterrupted(t *testing.T) {
	cases := []benchCase{{name: "a", sides: []string{"x"}}}
	run := func(name, side string) bench.Result { return bench.Result{Case: name, Side: side} }
	missing := interleave(cases, 5, run, newSamples(), func(round int) bool { return round < 3 })
	if want := fmt.Sprint([]string{"ended after 3 rounds of 5"}); fmt.Sprint(missing) != want {
		t.Errorf("missing %v", missing)
	}
}
