package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestChartFits(t *testing.T) {
	h := histogramOf(random(10000))
	for width, columns := range map[int]int{1: 16, 16: 16, 31: 16, 32: 32, 80: 64, 128: 128, 200: 128, 256: 256, 1000: 256} {
		lines := strings.Split(strings.TrimSuffix(chart(&h, width), "\n"), "\n")
		if len(lines) != 1+chartRows+1 {
			t.Errorf("width %d: %d lines", width, len(lines))
		}
		for _, l := range lines[1:] {
			if n := utf8.RuneCountInString(l); n > columns {
				t.Errorf("width %d: a line of %d characters, not %d", width, n, columns)
			}
		}
	}
}

func TestChartShape(t *testing.T) {
	h := histogram{0: 64, 32: 32, 255: 1}
	got := chart(&h, 16)
	want := strings.Join([]string{
		"bytes by value (a column is 16, the highest is 64 bytes)",
		"█", "█", "█", "█", "█ █", "█ █", "█ █", "█ █            ▁",
		"0020406080a0c0e0", "",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFoldLosesNothing(t *testing.T) {
	var h histogram
	for i := range h {
		h[i] = uint64(i)
	}
	got := fold(&h, 64)
	if got[0] != 0+1+2+3 || got[63] != 252+253+254+255 || len(got) != 64 {
		t.Errorf("got %d", got)
	}
	if !slices.Equal(fold(&h, 256), h[:]) {
		t.Error("256 columns are not the histogram")
	}
}

func TestHeight(t *testing.T) {
	const top = chartRows * 8
	for _, c := range []struct {
		count, highest uint64
		want           int
	}{
		{0, 0, 0}, {0, 5, 0}, {5, 5, top}, {1, 1 << 60, 1}, {1<<64 - 1, 1<<64 - 1, top}, {1, 2, top / 2},
	} {
		if got := height(c.count, c.highest); got != c.want {
			t.Errorf("%d of %d: got %d, want %d", c.count, c.highest, got, c.want)
		}
	}
}
