package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func someCases() ([]benchCase, *samples) {
	s := newSamples()
	fill(s, "x", "go", "ns", 900, 1100, 1000)
	fill(s, "x", "c", "ns", 1000, 1000, 1000)
	fill(s, "y", "go", "M/s", 1, 2, 3)
	return []benchCase{
		{name: "x", title: "a < b", sides: []string{"c", "go", "lost"}, goals: []goal{atMost("go", 1, "c"), atMost("go", 0.9, "c"), atMost("lost", 1, "c")}, limit: says("light")},
		{name: "y", title: "alone", sides: []string{"go"}},
		{name: "z", title: "later", notYet: []string{"go"}, goals: []goal{atMost("go", 1, "c")}},
	}, s
}

func someReport() report {
	cases, s := someCases()
	return judge(cases, s, info{"2025-01-02", "A GPU", "580", "abc"})
}

// The shape is what others read.
func TestJSON(t *testing.T) {
	text, err := json.Marshal(someReport())
	if err != nil {
		t.Fatal(err)
	}
	var rep struct {
		Date, GPU, Driver, Commit string
		Cases                     []struct {
			Case  string
			Sides map[string]struct {
				Median, Min, Max float64
				Unit             string
			}
			Ratio *float64
			Goal  string
			Met   *bool
		}
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&rep); err != nil {
		t.Fatal(err)
	}
	if rep.Date != "2025-01-02" || rep.GPU != "A GPU" || rep.Driver != "580" || rep.Commit != "abc" || len(rep.Cases) != 5 {
		t.Fatalf("%+v", rep)
	}
	first, second, lost, alone, later := rep.Cases[0], rep.Cases[1], rep.Cases[2], rep.Cases[3], rep.Cases[4]
	if s := first.Sides["go"]; s.Median != 1000 || s.Min != 900 || s.Max != 1100 || s.Unit != "ns" {
		t.Errorf("go: %+v", s)
	}
	if first.Ratio == nil || *first.Ratio != 1 || first.Met == nil || !*first.Met || first.Goal != "≤ 1.00 × c" {
		t.Errorf("first: %+v", first)
	}
	if second.Case != "x" || second.Met == nil || *second.Met {
		t.Errorf("second: %+v", second)
	}
	if lost.Met != nil || lost.Ratio != nil {
		t.Errorf("a side without a value has met something: %+v", lost)
	}
	if alone.Goal != reported || alone.Met != nil {
		t.Errorf("alone: %+v", alone)
	}
	if later.Met != nil || !strings.Contains(later.Goal, notYet) || len(later.Sides) != 0 {
		t.Errorf("later: %+v", later)
	}
	if strings.Contains(string(text), "incomplete") {
		t.Error("a complete report says that it is incomplete")
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	rep := someReport()
	rep.Incomplete = []string{"round 1: lost of x: it broke"}
	if err := printTable(&b, rep); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"INCOMPLETE", "it broke", "1 µs", "900 ns – 1.10 µs", "1.000", "NOT MET", "light", "failed", "not yet", "x: a < b", "1 of 2 goals met"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{0.0712, "ns", "0.0712 ns"}, {62.34, "ns", "62.3 ns"}, {999, "ns", "999 ns"}, {6543, "ns", "6.54 µs"},
		{1234567, "ns", "1235 µs"}, {55.41, "GB/s", "55.4 GB/s"}, {2, "calls", "2 calls"},
	} {
		if got := quantity(c.v, c.unit); got != c.want {
			t.Errorf("%v %s is printed as %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

// The picture is well-formed, has a bar for each side that has a value, and none
// reaches out of it.
func TestPicture(t *testing.T) {
	dec := xml.NewDecoder(bytes.NewReader(picture(someReport())))
	bars := 0
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "path" {
			bars++
		}
	}
	if bars != 3 {
		t.Errorf("%d bars with a spread, want 3", bars)
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	rep := someReport()
	first, err := write(dir, rep)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "2025-01-02-a-gpu.json"); first != want {
		t.Errorf("written to %s, want %s", first, want)
	}
	before, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	rep.Commit = "other"
	second, err := write(dir, rep)
	if err != nil || second == first {
		t.Fatalf("a second result of the day goes to %s: %v", second, err)
	}
	if after, err := os.ReadFile(first); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the first result was changed: %v", err)
	}
	for _, ext := range []string{".svg", ".txt"} {
		if _, err := os.Stat(strings.TrimSuffix(first, ".json") + ext); err != nil {
			t.Error(err)
		}
	}
}

func TestIncompleteIsNoResult(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	rep := someReport()
	rep.Incomplete = []string{"something"}
	if path, err := write(dir, rep); err == nil {
		t.Errorf("written to %s", path)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is something: %v", err)
	}
}
