package main

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func histogramOf(data string) (h histogram) {
	for i := range len(data) {
		h[data[i]]++
	}
	return h
}

// uniform has every value n times.
func uniform(n int) string {
	var b strings.Builder
	for i := range 256 * n {
		b.WriteByte(byte(i))
	}
	return b.String()
}

func random(n int) string {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

func TestEntropy(t *testing.T) {
	for _, c := range []struct {
		data string
		want float64
	}{
		{"", 0},
		{"a", 0},
		{strings.Repeat("\x00", 1000), 0},
		{"ab", 1},
		{"abcd", 2},
		{"aaab", 0.8112781244591328},
		{uniform(3), 8},
	} {
		h := histogramOf(c.data)
		got := h.entropy()
		if math.Abs(got-c.want) > 1e-12 || math.Signbit(got) {
			t.Errorf("%.20q: got %v, want %v", c.data, got, c.want)
		}
	}
	huge := histogram{0: math.MaxUint64 / 2, 255: math.MaxUint64 / 2}
	if got := huge.entropy(); math.Abs(got-1) > 1e-12 {
		t.Errorf("huge counts: got %v, want 1", got)
	}
}

func TestKind(t *testing.T) {
	english := "It was the best of times, it was the worst of times,\r\n\tit was the age of wisdom.\n"
	for _, c := range []struct{ name, data, want string }{
		{"nothing", "", empty},
		{"English", english, text},
		{"one letter", "x", text},
		{"UTF-8", strings.Repeat("Füße, naïveté, Ελληνικά. ", 20), text},
		{"one stray control character in a hundred", strings.Repeat("x", 99) + "\x01", text},
		{"at the bound of stray ones", strings.Repeat("x", 95) + strings.Repeat("\x01", 5), text},
		{"past it", strings.Repeat("x", 94) + strings.Repeat("\x01", 6), mixed},
		{"zeroes", strings.Repeat("\x00", 4096), mixed},
		{"0xff, no byte of UTF-8", strings.Repeat("\xff", 4096), mixed},
		{"printable, over 5.5 bits", uniform(1)[' ':127], mixed},
		{"random", random(1 << 16), packed},
		{"random, but too short for 7.9 bits", random(256), mixed},
		{"machine words", strings.Repeat("\x00\x00\x00\x01\x00\x00\x00A", 100), mixed},
	} {
		h := histogramOf(c.data)
		if got := h.kind(); got != c.want {
			t.Errorf("%s: got %s, want %s (%.3f bits, %d of %d printable)", c.name, got, c.want, h.entropy(), h.printable(), h.bytes())
		}
	}
}
