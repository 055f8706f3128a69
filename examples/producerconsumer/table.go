package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// view is how much of a report fits where it is shown.
type view struct {
	width int  // of a line, in characters
	most  int  // files; 0: all
	clip  bool // paths that do not fit lose their middle
}

// mostFiles are shown on a terminal.
const mostFiles = 40

// viewOf is a terminal's view. What reads a pipe or a file gets everything.
func viewOf(w io.Writer, all bool) view {
	v := view{width: widthOf(w)}
	if watched(w) {
		v.clip = true
		if !all {
			v.most = mostFiles
		}
	}
	return v
}

// writeTable writes the report for people: a line for each file, the chart of
// all bytes, and how it went.
func (r *report) writeTable(w io.Writer, v view) error {
	var b strings.Builder
	r.table(&b, v)
	if r.Total.Bytes > 0 {
		b.WriteByte('\n')
		b.WriteString(chart(&r.Total.Histogram, v.width))
	}
	b.WriteByte('\n')
	r.summary(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *report) table(b *strings.Builder, v view) {
	const total = "total"
	shown := largest(r.Files, v.most)
	bytes := max(len("bytes"), len(strconv.FormatUint(r.Total.Bytes, 10)))
	name, names := len(total), make([]string, len(shown))
	for i, f := range shown {
		names[i] = printable(f.Path)
		if v.clip {
			names[i] = clipped(names[i], v.width-bytes-len("    entropy  packed"))
		}
		name = max(name, utf8.RuneCountInString(names[i]))
	}
	row := func(n, size, entropy, kind string) {
		fmt.Fprintf(b, "%-*s  %*s  %7s  %s\n", name, n, bytes, size, entropy, kind)
	}
	line := func(n string, c *counted) {
		row(n, strconv.FormatUint(c.Bytes, 10), strconv.FormatFloat(c.Entropy, 'f', 3, 64), c.Kind)
	}
	row("file", "bytes", "entropy", "kind")
	for i := range shown {
		line(names[i], &shown[i].counted)
	}
	if more := len(r.Files) - len(shown); more > 0 {
		fmt.Fprintf(b, "and %d more (-all shows them)\n", more)
	}
	line(total, &r.Total)
}

// largest are the most largest of files, in the order that they have. Of equal ones
// the first are.
func largest(files []fileReport, most int) []fileReport {
	if most <= 0 || len(files) <= most {
		return files
	}
	list := slices.Clone(files)
	slices.SortStableFunc(list, func(a, b fileReport) int { return cmp.Compare(b.Bytes, a.Bytes) })
	list = list[:most]
	slices.SortStableFunc(list, func(a, b fileReport) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// clipped leaves out the middle of a path that is too long; its end says most.
func clipped(path string, width int) string {
	const least = 16
	width = max(width, least)
	all := []rune(path)
	if len(all) <= width {
		return path
	}
	head := (width - 1) / 3
	return string(all[:head]) + "…" + string(all[len(all)-(width-1-head):])
}

// scanned is how many files the report has, and of how many where it does not have
// them all.
func (r *report) scanned() string {
	n := uint64(len(r.Files))
	if !r.Interrupted {
		return number(n, "file", "files")
	}
	text := fmt.Sprintf("interrupted: %d of %s", n, number(uint64(r.found), "file", "files"))
	if r.partial {
		text += " found so far"
	}
	return text
}

func (r *report) summary(b *strings.Builder) {
	fmt.Fprintf(b, "%s, %s in %s: %s/s\n", r.scanned(), size(r.Total.Bytes),
		r.elapsed.Round(time.Millisecond), size(rate(r.Total.Bytes, r.elapsed)))
	fmt.Fprintf(b, "%-9s %s\n", r.Runtime+":", strings.Join(r.Devices, ", "))
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
