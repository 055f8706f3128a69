package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// byteSize is an option in bytes, or in K, M, G or KiB, MiB, GiB. It is a [flag.Value].
// KB is refused, which to some is 1000 and to others 1024.
type byteSize int

// String is part of [flag.Value].
func (b byteSize) String() string {
	n, unit := int(b), 0
	units := [...]string{"", "KiB", "MiB", "GiB"}
	for n != 0 && n%1024 == 0 && unit < len(units)-1 {
		n, unit = n/1024, unit+1
	}
	return strconv.Itoa(n) + units[unit]
}

// Set is part of [flag.Value].
func (b *byteSize) Set(text string) error {
	digits := strings.TrimRight(text, "KMGkmgiIbB")
	shift, ok := shiftOf(strings.ToLower(text[len(digits):]))
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil {
		return errors.New("it takes bytes, as 65536, 64K or 64KiB")
	}
	// What would overflow is refused as too large or too small, like what nearly does.
	most := int64(math.MaxInt >> shift)
	n = min(max(n, -most), most)
	*b = byteSize(n << shift)
	return nil
}

// shiftOf is the power of two that a unit stands for.
func shiftOf(unit string) (int, bool) {
	switch unit {
	case "", "b":
		return 0, true
	case "k", "kib":
		return 10, true
	case "m", "mib":
		return 20, true
	case "g", "gib":
		return 30, true
	}
	return 0, false
}
