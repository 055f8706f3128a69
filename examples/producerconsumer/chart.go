package main

import (
	"fmt"
	"strings"
)

const chartRows = 8

// eighths fill a character from below.
var eighths = []rune(" ▁▂▃▄▅▆▇█")

// chart draws a histogram as columns, 256 values folded to fit into width
// characters. Whatever occurs at all is at least an eighth of a character high.
func chart(h *histogram, width int) string {
	columns := fold(h, chartColumns(width))
	highest := uint64(0)
	for _, c := range columns {
		highest = max(highest, c)
	}
	per := len(h) / len(columns)
	var b strings.Builder
	fmt.Fprintf(&b, "bytes by value (a column is %d, the highest is %d bytes)\n", per, highest)
	for row := chartRows - 1; row >= 0; row-- {
		var line strings.Builder
		for _, c := range columns {
			line.WriteRune(eighths[min(max(height(c, highest)-8*row, 0), 8)])
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	b.WriteString(axis(len(columns)))
	return b.String()
}

// chartColumns is the largest of 256, 128, 64 … 16 that fits.
func chartColumns(width int) int {
	n := 256
	for n > 16 && n > width {
		n /= 2
	}
	return n
}

// fold adds up neighbours until n are left; n divides 256.
func fold(h *histogram, n int) []uint64 {
	columns := make([]uint64, n)
	per := len(h) / n
	for i, c := range h {
		columns[i/per] += c
	}
	return columns
}

// height is in eighths of a character, rounded up.
func height(count, highest uint64) int {
	if count == 0 {
		return 0
	}
	top := chartRows * 8
	return min(top, int(float64(count)/float64(highest)*float64(top-1))+1)
}

// axis names the first value of every eighth of the columns.
func axis(columns int) string {
	var b strings.Builder
	for i := range 8 {
		fmt.Fprintf(&b, "%-*s", columns/8, fmt.Sprintf("%02x", i*32))
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}
