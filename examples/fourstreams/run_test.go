package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// output runs the program, which must succeed.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if got := run(t.Context(), arguments(args...), &stdout, &stderr); got != exitOK {
		t.Fatalf("exit status %d: %s%s", got, &stderr, &stdout)
	}
	return stdout.String()
}

func TestJSON(t *testing.T) {
	out := output(t, "-json")
	var shape map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out), &shape); err != nil {
		t.Fatalf("not one object: %v: %s", err, out)
	}
	var events, edges []map[string]any
	if err := json.Unmarshal(shape["events"], &events); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(shape["edges"], &edges); err != nil {
		t.Fatal(err)
	}
	streamOf := map[string]string{}
	var names []string
	for _, e := range events {
		start, end := e["start_ns"].(float64), e["end_ns"].(float64)
		if start < 0 || end < start {
			t.Errorf("%v runs from %v to %v", e["name"], start, end)
		}
		if !slices.Contains(streams, e["stream"].(string)) {
			t.Errorf("an event in stream %v", e["stream"])
		}
		names = append(names, e["name"].(string))
		streamOf[e["name"].(string)] = e["stream"].(string)
	}
	slices.Sort(names)
	want := expected()
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("events %q, want each of %q once", names, want)
	}
	for _, e := range edges {
		from, to := e["from"].(string), e["to"].(string)
		if !slices.Contains(related, from) || !slices.Contains(related, to) || from == to {
			t.Errorf("an edge from %s to %s", from, to)
		}
		if streamOf[e["after"].(string)] != from || streamOf[e["before"].(string)] != to || e["why"] == "" {
			t.Errorf("an edge that is not between events of its streams: %v", e)
		}
	}
}

// The copy's two edges, each said in events: the destination's memory is ready
// before it, and its first use comes behind it.
func TestEdgesOfThePull(t *testing.T) {
	r, err := observe(t.Context(), newKernels(image()), quick, systemOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Problems) > 0 {
		t.Errorf("problems: %q", r.Problems)
	}
	var got []string
	for _, e := range r.Edges {
		got = append(got, e.From+" → "+e.To+": "+e.After+" → "+e.Before)
	}
	for _, want := range []string{"gpu1s1 → gpu2s1: gpu1s1 prepare → copy", "gpu2s1 → gpu1s1: copy → gpu1s1 use"} {
		if !slices.Contains(got, want) {
			t.Errorf("no edge %q among %q", want, got)
		}
	}
}

func TestTimelineFitsIntoATerminal(t *testing.T) {
	r, err := observe(t.Context(), newKernels(image()), quick, systemOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	for width, most := range map[int]int{80: 80, 120: 98, math.MaxInt: 98} {
		var out strings.Builder
		if err := r.writeTimeline(&out, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > most || strings.TrimRight(line, " ") != line {
				t.Errorf("width %d: %d columns, or blanks at the end: %q", width, utf8.RuneCountInString(line), line)
			}
		}
		for _, want := range []string{"gpu1s2 waited for nobody", "gpu2s2 waited for nobody", "gpu1s1 waited for gpu2s1", "clock: "} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("it does not say %q:\n%s", want, &out)
			}
		}
	}
}

// Whoever asks for an object gets one, also where the run failed or was interrupted.
func TestJSONOfAFailure(t *testing.T) {
	var stdout, stderr bytes.Buffer
	t.Setenv("GPUACTOR_RUNTIME", "no such runtime")
	if got := run(t.Context(), []string{"-json"}, &stdout, &stderr); got != exitReported {
		t.Errorf("exit status %d", got)
	}
	isFailure(t, &stdout, &stderr, "no such runtime")
	t.Setenv("GPUACTOR_RUNTIME", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stdout.Reset()
	stderr.Reset()
	if got := run(ctx, arguments("-json"), &stdout, &stderr); got != exitInterrupted {
		t.Errorf("exit status %d", got)
	}
	isFailure(t, &stdout, &stderr, "interrupted")
	stdout.Reset()
	if got := run(ctx, arguments(), &stdout, &stderr); got != exitInterrupted || stdout.Len() > 0 {
		t.Errorf("exit status %d, and a timeline of nothing: %s", got, &stdout)
	}
}

func isFailure(t *testing.T, stdout, stderr *bytes.Buffer, why string) {
	t.Helper()
	var r report
	err := json.Unmarshal(stdout.Bytes(), &r)
	if err != nil || r.Events == nil || r.Edges == nil || r.Devices == nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], why) {
		t.Errorf("%v: %s", err, stdout)
	}
	for line := range strings.Lines(stderr.String()) {
		if !strings.HasPrefix(line, "fourstreams: ") {
			t.Errorf("it says %q", line)
		}
	}
	if !strings.Contains(stderr.String(), why) {
		t.Errorf("it does not say %q: %s", why, stderr)
	}
}

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		args string
		want int
		says string
	}{
		{"-h", exitOK, "usage:"},
		{"-virtual 1", exitUsage, "-virtual is 1"},
		{"-virtual 17", exitUsage, "-virtual is 17"},
		{"-runtime cuda", exitUsage, "-runtime is"},
		{"-unknown", exitUsage, "-h for help"},
		{"file", exitUsage, "no argument"},
	} {
		var stdout, stderr bytes.Buffer
		got := run(t.Context(), strings.Fields(c.args), &stdout, &stderr)
		if got != c.want || !strings.Contains(stderr.String(), c.says) || stdout.Len() > 0 {
			t.Errorf("%s: exit status %d, want %d; it says %q, and prints %q", c.args, got, c.want, &stderr, &stdout)
		}
	}
}
