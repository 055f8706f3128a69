package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func sample() outcome {
	o := outcome{runtime: "sim", devices: []string{"gpu <0>", "gpu 1"}, transfers: []transferCount{{"upload", 2, 5}}}
	for path, data := range map[string]string{"b": "aab", "a": "", "c\x1b[2J": "\x00"} {
		h := histogramOf(data)
		o.files = append(o.files, fileResult{path, h})
		o.total.add(&h)
	}
	o.problems = []problem{{"z", "gone"}}
	return o
}

// zeroes is n zeroes of a JSON array, each with a comma behind it.
func zeroes(n int) string { return strings.Repeat("0,", n) }

func TestJSONHasExactlyTheForm(t *testing.T) {
	r := newReport(found{problems: []problem{{"y", "shut"}}}, sample(), nil, time.Second)
	var got bytes.Buffer
	if err := r.writeJSON(&got); err != nil {
		t.Fatal(err)
	}
	none := "[" + zeroes(255) + "0]"
	want := `{"runtime":"sim","devices":["gpu <0>","gpu 1"],"files":[` +
		`{"path":"a","bytes":0,"entropy":0,"kind":"empty","histogram":` + none + `},` +
		`{"path":"b","bytes":3,"entropy":0.9182958340544896,"kind":"text","histogram":[` + zeroes(97) + `2,1,` + zeroes(156) + `0]},` +
		`{"path":"c\u001b[2J","bytes":1,"entropy":0,"kind":"mixed","histogram":[1,` + zeroes(254) + `0]}],` +
		`"total":{"bytes":4,"entropy":1.5,"kind":"mixed","histogram":[1,` + zeroes(96) + `2,1,` + zeroes(156) + `0]},` +
		`"transfers":[{"route":"upload","count":2,"bytes":5}],` +
		`"errors":[{"path":"y","error":"shut"},{"path":"z","error":"gone"}],"verified":null,"interrupted":false}` + "\n"
	if got.String() != want {
		t.Errorf("got  %s\nwant %s", &got, want)
	}
}

// What is empty is [], never null: readers iterate over it.
func TestJSONOfNothing(t *testing.T) {
	r := newReport(found{}, outcome{}, newReference(), 0)
	var got bytes.Buffer
	if err := r.writeJSON(&got); err != nil {
		t.Fatal(err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(got.Bytes(), &object); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"devices": "[]", "files": "[]", "transfers": "[]", "errors": "[]", "verified": "true"} {
		if string(object[key]) != want {
			t.Errorf("%s is %s, want %s", key, object[key], want)
		}
	}
}

func TestTable(t *testing.T) {
	r := newReport(found{}, sample(), nil, 2*time.Second)
	var got strings.Builder
	if err := r.writeTable(&got, view{width: 80}); err != nil {
		t.Fatal(err)
	}
	want := `file        bytes  entropy  kind
a               0    0.000  empty
b               3    0.918  text
"c\x1b[2J"      1    0.000  mixed
total           4    1.500  mixed
`
	if !strings.HasPrefix(got.String(), want) {
		t.Errorf("got\n%s\nwant it to begin\n%s", got.String(), want)
	}
	end := `
3 files, 4 B in 2s: 2 B/s
sim:      gpu <0>, gpu 1
upload:   2 copies, 5 B
`
	if !strings.HasSuffix(got.String(), end) {
		t.Errorf("got\n%s\nwant it to end\n%s", got.String(), end)
	}
}

// A terminal shows the largest files, by path; nothing else does.
func TestLargest(t *testing.T) {
	var o outcome
	for path, bytes := range map[string]int{"a": 1, "b": 9, "c": 5, "d": 5, "e": 7} {
		h := histogramOf(strings.Repeat("x", bytes))
		o.files = append(o.files, fileResult{path, h})
		o.total.add(&h)
	}
	r := newReport(found{}, o, nil, time.Second)
	for most, want := range map[int]string{0: "a b c d e", 5: "a b c d e", 3: "b c e and", 1: "b and"} {
		var b strings.Builder
		r.table(&b, view{width: 80, most: most})
		var got []string
		for line := range strings.Lines(b.String()) {
			got = append(got, strings.Fields(line)[0])
		}
		if got := strings.Join(got, " "); got != "file "+want+" total" {
			t.Errorf("%d of them: %s", most, got)
		}
	}
	if v := viewOf(new(strings.Builder), false); v.most != 0 || v.clip {
		t.Errorf("what is no terminal is given %+v", v)
	}
}

func TestClipped(t *testing.T) {
	for _, c := range []struct {
		path  string
		width int
		want  string
	}{
		{"a/short/path", 16, "a/short/path"},
		{"a/rather/long/path/name.go", 20, "a/rath…/path/name.go"},
		{"öööööööööööööööööööö", 16, "ööööö…öööööööööö"},
		{"a/rather/long/path/name.go", 3, "a/rat…th/name.go"},
	} {
		if got := clipped(c.path, c.width); got != c.want {
			t.Errorf("%s in %d: %s, want %s", c.path, c.width, got, c.want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1.0 MiB", 1 << 20: "1.0 MiB", 5 << 30: "5.0 GiB", 1<<64 - 1: "16.0 EiB",
	} {
		if got := size(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
	if got := rate(100, 0); got != 0 {
		t.Errorf("a rate in no time is %d", got)
	}
}
