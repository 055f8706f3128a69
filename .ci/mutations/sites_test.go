package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSites: each kind of protection is found by its form, and switched off by its
// own number alone, also where one stands inside another.
func TestSites(t *testing.T) {
	dir := t.TempDir()
	for _, pkg := range packages {
		if err := os.Mkdir(filepath.Join(dir, pkg), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const src = `package buffer

func (h Handle) take(o *Owner, p device.Point) error {
	if w.gen() != h.gen || !ready.Known() {
		return h.x.ownership(w)
	}
	if w := x.load(); w != word(1) {
		if err := x.refuse(w); err != nil {
			return err
		}
	}
	switch {
	case h.x.dev != nil:
		return ErrNoStream
	case tidy:
		return nil
	}
	if err := s.check(); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	if _, err := o.Stream.Flush(mark); err != nil {
		return &PoisonError{cause: err}
	}
	if _, err := o.Stream.Flush(false); err != nil {
		return err
	}
	copy(PeerCopy{After: [2]device.Point{src.After, ready}})
	Give(nil, hs, p)
	Give(o, hs, p)
	return o.Stream.WaitFor(h.x.point, "hand-off")
}
`
	if err := os.WriteFile(filepath.Join(dir, "buffer", "x.go"), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "buffer", "x_test.go"), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := sites(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ownership if w.gen() != h.gen || !ready.Known()",
		"readiness ready.Known()",
		"ownership if w != word(1)",
		"ownership case h.x.dev != nil",
		"thread s.check()",
		"record o.Stream.Flush(mark)",
		"wait After: src.After",
		"wait After: ready",
		"reuse Give(o, hs, p)",
		`wait o.Stream.WaitFor(h.x.point, "hand-off")`,
	}
	var got []string
	for _, s := range all {
		got = append(got, s.kind+" "+s.what)
		if s.in != "Handle.take" || s.file != "buffer/x.go" {
			t.Errorf("%s is in %s of %s", s.what, s.in, s.file)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	is := make([]int, len(all))
	for i := range is {
		is[i] = i
	}
	text := switched(src, all, is)
	for _, want := range []string{
		"if !mutOn(1) && (w.gen() != h.gen || !(mutOn(2) || ready.Known())) {",
		"; !mutOn(3) && (w != word(1)) {",
		"case !mutOn(4) && (h.x.dev != nil):",
		"err := mutErr(5, func() error { return s.check() }); err",
		"err := c.check(); err",
		"mutFlush(6, o.Stream, mark)",
		"Flush(false)",
		"{mutPoint(7, src.After), mutPoint(8, ready)}",
		"Give(nil, hs, p)",
		"Give(o, hs, mutPoint(9, p))",
		`return mutErr(10, func() error { return o.Stream.WaitFor(h.x.point, "hand-off") })`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestParse(t *testing.T) {
	f := parse("seeds=3 program=pull by=checker: race: of two")
	if *f != (finding{"3", "pull", "checker: race: of two"}) {
		t.Errorf("%+v", f)
	}
}
