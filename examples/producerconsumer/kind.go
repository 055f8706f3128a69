package main

import "math"

// histogram counts the bytes of each value.
type histogram [256]uint64

// bytes is how many were counted.
func (h *histogram) bytes() uint64 {
	var n uint64
	for _, c := range h {
		n += c
	}
	return n
}

// add counts what other counted.
func (h *histogram) add(other *histogram) {
	for i, c := range other {
		h[i] += c
	}
}

// entropy is Shannon's, of single bytes: 0 (empty, or all bytes alike) to 8 bits
// per byte (all values equally frequent).
func (h *histogram) entropy() float64 {
	n := float64(h.bytes())
	bits := 0.0
	for _, c := range h {
		if c > 0 {
			bits += float64(c) / n * math.Log2(n/float64(c))
		}
	}
	return bits
}

// The kinds of files, as far as a histogram can tell them apart.
const (
	empty  = "empty"
	text   = "text"   // under textBits, and mostly printable
	packed = "packed" // over packedBits: compressed or encrypted
	mixed  = "mixed"
)

const (
	textBits   = 5.5
	packedBits = 7.9
	// Text with a few stray control characters is still text; a table of
	// numbers that has many zero bytes is not.
	mostly = 0.95
)

func (h *histogram) kind() string {
	n := h.bytes()
	if n == 0 {
		return empty
	}
	switch bits := h.entropy(); {
	case bits > packedBits:
		return packed
	case bits < textBits && float64(h.printable()) >= mostly*float64(n):
		return text
	}
	return mixed
}

// printable counts the bytes that text is made of: printable ASCII, white space,
// and the bytes of UTF-8 beyond ASCII, which never contain 0xc0, 0xc1 or 0xf5 to 0xff.
func (h *histogram) printable() uint64 {
	var n uint64
	for b, c := range h {
		switch {
		case b >= ' ' && b <= '~', b >= '\t' && b <= '\r', b >= 0x80 && b <= 0xbf, b >= 0xc2 && b <= 0xf4:
			n += c
		}
	}
	return n
}
