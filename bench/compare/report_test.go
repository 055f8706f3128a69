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
	"unicode/utf8"
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

// The shape is what others read: one entry for each case, whose ratio, goal and met
// are those of the worst goal, with all of them in goals.
func TestJSON(t *testing.T) {
	text, err := json.Marshal(someReport())
	if err != nil {
		t.Fatal(err)
	}
	type verdict struct {
		Side  string
		Ratio *float64
		Goal  string
		Met   *bool
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
			Goals []verdict
		}
	}
	if err := json.Unmarshal(text, &rep); err != nil {
		t.Fatal(err)
	}
	if rep.Date != "2025-01-02" || rep.GPU != "A GPU" || rep.Driver != "580" || rep.Commit != "abc" || len(rep.Cases) != 3 {
		t.Fatalf("%+v", rep)
	}
	x, alone, later := rep.Cases[0], rep.Cases[1], rep.Cases[2]
	if s := x.Sides["go"]; x.Case != "x" || s.Median != 1000 || s.Min != 900 || s.Max != 1100 || s.Unit != "ns" {
		t.Errorf("go: %+v", x)
	}
	if x.Ratio == nil || *x.Ratio != 1 || x.Met == nil || *x.Met || x.Goal != "≤ 0.90 × c" {
		t.Errorf("a case with one goal met, one missed, one without a value: %+v", x)
	}
	if len(x.Goals) != 3 {
		t.Fatalf("%+v", x.Goals)
	}
	if g := x.Goals[0]; g.Side != "go" || g.Ratio == nil || *g.Ratio != 1 || g.Goal != "≤ 1.00 × c" || g.Met == nil || !*g.Met {
		t.Errorf("the goal that was met: %+v", g)
	}
	if g := x.Goals[2]; g.Side != "lost" || g.Ratio != nil || g.Met != nil {
		t.Errorf("a side without a value has met something: %+v", g)
	}
	if alone.Goal != reported || alone.Met != nil || alone.Ratio != nil || len(alone.Goals) != 0 {
		t.Errorf("alone: %+v", alone)
	}
	if later.Met != nil || !strings.Contains(later.Goal, notYet) || len(later.Sides) != 0 {
		t.Errorf("later: %+v", later)
	}
	// What has no value is null, and not left out.
	for _, want := range []string{`"ratio":null,"goal":"reported","met":null`, `"cases":[{"case":"x"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	if strings.Contains(string(text), "incomplete") {
		t.Error("a complete report says that it is incomplete")
	}
}

// The goal that speaks for a case: missed by the most, else not judged, else met by
// the least; a check of the opponent where there is nothing else.
func TestWorst(t *testing.T) {
	s := newSamples()
	fill(s, "x", "go", "ns", 100)
	fill(s, "x", "c", "ns", 100)
	fill(s, "x", "slow", "ns", 800)
	for _, c := range []struct {
		name  string
		goals []goal
		want  int
	}{
		{"missed by more", []goal{atMost("go", 0.9, "c"), atMost("go", 0.5, "c"), atMost("go", 0.8, "c")}, 1},
		{"of which more is better", []goal{atMost("go", 0.9, "c"), times("go", 16, "slow"), atMost("go", 0.6, "c")}, 1},
		{"missed, not judged, met", []goal{atMost("go", 1, "c"), atMost("lost", 1, "c"), atMost("go", 0.9, "c")}, 2},
		{"not judged, met", []goal{atMost("go", 1, "c"), atMost("lost", 1, "c")}, 1},
		{"met by less", []goal{atMost("go", 2, "c"), times("go", 7, "slow"), atMost("go", 1.3, "c")}, 1},
		{"none allowed", []goal{atMost("go", 0.9, "c"), absolute("go", 0)}, 1},
		{"a check that fails", []goal{before("c", 1), atMost("go", 1, "c")}, 1},
		{"checks alone", []goal{before("c", 100), before("c", 1)}, 1},
	} {
		e := judge([]benchCase{{name: "x", sides: []string{"go", "c", "slow"}, goals: c.goals}}, s, info{}).Cases[0]
		if want := e.Goals[c.want]; e.Goal != want.Goal || e.Ratio != want.Ratio || e.Met != want.Met {
			t.Errorf("%s: %q speaks for the case, want %q", c.name, e.Goal, want.Goal)
		}
	}
	if worst(nil) != nil {
		t.Error("something speaks for a case without goals")
	}
}

// whole is a report of the whole table, with values that are long.
func whole() report {
	s := newSamples()
	for i, c := range table() {
		for k, side := range c.sides {
			unit := []string{"ns", "GB/s", "calls"}[i%3]
			fill(s, c.name, side, unit, 1000.25+float64(k), 1034, 1234.5)
		}
	}
	return judge(table(), s, info{"2025-01-02", "A GPU", "580.159.04", "0123456-modified"})
}

// No line of the table is wider than many terminals are.
func TestTableIsNarrow(t *testing.T) {
	const columns = 100
	var b bytes.Buffer
	if err := printTable(&b, whole()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

// Every text of the picture ends before the column does, and no two are in one place.
func TestPictureHasRoom(t *testing.T) {
	var svg struct {
		Text []struct {
			X     int    `xml:"x,attr"`
			Y     int    `xml:"y,attr"`
			Value string `xml:",chardata"`
		} `xml:"text"`
	}
	if err := xml.Unmarshal(picture(whole()), &svg); err != nil {
		t.Fatal(err)
	}
	const wide = 7 // more than a letter of 12 takes on average
	last := map[int]int{}
	for i, text := range svg.Text {
		if i < 5 { // the heading and the legend
			continue
		}
		column := (text.X - margin) / columnGap
		at, end := text.X, margin+(column+1)*columnGap
		switch at - column*columnGap - margin {
		case 12:
			end = at - 12 + barLeft
		case valueLeft:
			end = at - valueLeft + goalLeft
		case goalLeft:
			end = at + 66
		}
		if got := at + wide*utf8.RuneCountInString(text.Value); got > end {
			t.Errorf("%q reaches to %d, and has room to %d", text.Value, got, end)
		}
		if y, there := last[at]; there && text.Y < y+12 {
			t.Errorf("%q at %d, %d is over what stands at %d", text.Value, at, text.Y, y)
		}
		last[at] = text.Y
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	rep := someReport()
	rep.Incomplete = []string{"round 1: lost of x: it broke"}
	if err := printTable(&b, rep); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"INCOMPLETE", "it broke", "1 µs", "900 ns – 1.10 µs", "1 – 3 M/s", "1.000", "NOT MET", "light", "failed", "not yet", "x: a < b", "1 of 2 goals met"} {
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
