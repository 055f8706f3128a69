package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// writeTable writes the report for people: a line for each file, the chart of
// all bytes, and how it went. width is that of the terminal, in characters.
func (r *report) writeTable(w io.Writer, width int) error {
	var b strings.Builder
	r.table(&b)
	if r.Total.Bytes > 0 {
		b.WriteByte('\n')
		b.WriteString(chart(&r.Total.Histogram, width))
	}
	b.WriteByte('\n')
	r.summary(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *report) table(b *strings.Builder) {
	const total = "total"
	name, bytes := len(total), len("bytes")
	for _, f := range r.Files {
		name = max(name, utf8.RuneCountInString(printable(f.Path)))
	}
	bytes = max(bytes, len(strconv.FormatUint(r.Total.Bytes, 10)))
	row := func(n, size, entropy, kind string) {
		fmt.Fprintf(b, "%-*s  %*s  %7s  %s\n", name, n, bytes, size, entropy, kind)
	}
	line := func(n string, c *counted) {
		row(n, strconv.FormatUint(c.Bytes, 10), strconv.FormatFloat(c.Entropy, 'f', 3, 64), c.Kind)
	}
	row("file", "bytes", "entropy", "kind")
	for i := range r.Files {
		line(printable(r.Files[i].Path), &r.Files[i].counted)
	}
	line(total, &r.Total)
}

func (r *report) summary(b *strings.Builder) {
	fmt.Fprintf(b, "%s, %s in %s: %s/s on %s (%s)\n", number(uint64(len(r.Files)), "file", "files"), size(r.Total.Bytes),
		r.elapsed.Round(time.Millisecond), size(rate(r.Total.Bytes, r.elapsed)), r.Runtime, strings.Join(r.Devices, ", "))
	for _, t := range r.Transfers {
		if t.Count > 0 {
			fmt.Fprintf(b, "%-9s %s, %s\n", t.Route+":", number(t.Count, "copy", "copies"), size(t.Bytes))
		}
	}
	if r.Verified != nil && *r.Verified {
		fmt.Fprintln(b, "verified: the CPU counts the same")
	}
}

// printable is a path as a terminal may be given it: a file's name can hold
// control sequences.
func printable(path string) string {
	if strings.IndexFunc(path, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }) < 0 {
		return path
	}
	return strconv.Quote(path)
}

// number is n of something, in words.
func number(n uint64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatUint(n, 10) + " " + more
}

// rate is bytes per second, 0 for no time at all.
func rate(bytes uint64, d time.Duration) uint64 {
	if d <= 0 {
		return 0
	}
	return uint64(float64(bytes) / d.Seconds())
}

// size is a number of bytes in the unit that suits it.
func size(n uint64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return strconv.FormatUint(n, 10) + " B"
	}
	v, u := float64(n)/1024, 0
	// Not to 1024: that would print as "1024.0 KiB" what is a hair below 1 MiB.
	for v >= 1023.95 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	return fmt.Sprintf("%.1f %ciB", v, units[u])
}
