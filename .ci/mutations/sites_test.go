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
	case h.stale(w):
		return h.x.ownership(w)
	case tidy:
		return nil
	}
	switch w.state() {
	case free:
		return h.x.ownership(w)
	}
	if err := s.cuda.Uses(id, args...); err != nil {
		return err
	}
	s.cuda.Touched()
	if done, err := h.x.point.Done(nil); done || err != nil {
		return err
	}
	if done, err := h.x.point.Done(o.Device()); done || err != nil {
		return err
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
		"ownership case h.stale(w)",
		"ownership s.cuda.Uses(id, args...)",
		"record s.cuda.Touched()",
		"readiness h.x.point.Done(nil)",
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
		"case !mutOn(5) && (h.stale(w)):",
		"err := mutErr(6, func() error { return s.cuda.Uses(id, args...) }); err",
		"\tmutDo(7, func() { s.cuda.Touched() })\n",
		"err := mutDone(8, func() (bool, error) { return h.x.point.Done(nil) }); done",
		"h.x.point.Done(o.Device()); done",
		"case free:",
		"err := mutErr(9, func() error { return s.check() }); err",
		"err := c.check(); err",
		"mutFlush(10, o.Stream, mark)",
		"Flush(false)",
		"{mutPoint(11, src.After), mutPoint(12, ready)}",
		"Give(nil, hs, p)",
		"Give(o, hs, mutPoint(13, p))",
		`return mutErr(14, func() error { return o.Stream.WaitFor(h.x.point, "hand-off") })`,
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
