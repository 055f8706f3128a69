package main

import "testing"

func TestAhead(t *testing.T) {
	for _, c := range []struct {
		name     string
		readings []reading
		step     int64
		want     interval
	}{
		{"one reading", []reading{{100, 10, 14}}, 0, interval{86, 90}},
		{"what all agree on", []reading{{100, 10, 14}, {200, 112, 120}, {300, 205, 213}}, 0, interval{87, 88}},
		{"a coarse clock", []reading{{100, 10, 14}}, 3, interval{83, 93}},
		{"the narrowest where they disagree", []reading{{100, 10, 20}, {200, 101, 105}}, 0, interval{95, 99}},
		{"the first of equally narrow ones", []reading{{100, 10, 14}, {200, 100, 104}}, 0, interval{86, 90}},
	} {
		if got := ahead(c.readings, c.step); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestTogether(t *testing.T) {
	for _, c := range []struct {
		v          interval
		shift, err int64
	}{
		{interval{-3, 8}, 0, 8},
		{interval{-9, 0}, 0, 9},
		{interval{5, 15}, 10, 5},
		{interval{-1016, -1006}, -1011, 5},
	} {
		if shift, err := together(c.v); shift != c.shift || err != c.err {
			t.Errorf("%+v: shifted by %d ± %d, want %d ± %d", c.v, shift, err, c.shift, c.err)
		}
	}
}

func TestMinusIsWhereTheDifferenceLies(t *testing.T) {
	a, b := interval{10, 14}, interval{3, 4}
	if got, want := a.minus(b), (interval{6, 11}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
