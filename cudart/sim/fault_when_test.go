package sim

import (
	"fmt"
	"testing"
)

func TestWhenARuleActs(t *testing.T) {
	for _, c := range []struct {
		when When
		want string // of ten happenings, x where it acts
	}{
		{When{}, "xxxxxxxxxx"},
		{Nth(1), "x........."},
		{Nth(4), "...x......"},
		{From(1), "xxxxxxxxxx"},
		{From(8), ".......xxx"},
		{From(11), ".........."},
		{When{Times: 2}, "xx........"},
		{When{From: 3, Times: 3}, "..xxx....."},
		{WithChance(1, 7), "xxxxxxxxxx"},
		{When{From: 9, Chance: 1}, "........xx"},
		{WithChance(0.5, 1), "..xx...x.x"},
		{WithChance(0.5, 2), "...xx..x.x"},
		{When{Chance: 0.5, Seed: 1, Times: 2}, "..xx......"},
		{When{Chance: 0.5, Seed: 1, From: 5}, ".......x.x"},
	} {
		t.Run(fmt.Sprintf("%+v", c.when), func(t *testing.T) {
			x := &Rule{}
			got := ""
			for n := 1; n <= 10; n++ {
				switch k := x.acts(c.when); k {
				case 0:
					got += "."
				case n:
					got += "x"
				default:
					t.Fatalf("happening %d has number %d", n, k)
				}
			}
			if got != c.want {
				t.Errorf("acts %s, want %s", got, c.want)
			}
		})
	}
}

func TestAChanceIsWhatItSays(t *testing.T) {
	for seed := range uint64(5) {
		hits := 0
		for n := range 10000 {
			if WithChance(0.2, seed).acts(n+1, 0) {
				hits++
			}
		}
		if hits < 1800 || hits > 2200 {
			t.Errorf("seed %d: %d of 10000", seed, hits)
		}
	}
}
