package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
)

func TestExitStatus(t *testing.T) {
	flip := func(r *fileResult) { r.counts['a']++ }
	for _, c := range []struct {
		name, args string
		scanner    cpuScanner
		want       int
		says       string // on standard error
	}{
		{"all well", "a d", cpuScanner{}, exitOK, ""},
		{"nothing to scan", "void", cpuScanner{}, exitOK, ""},
		{"verified", "-verify a d", cpuScanner{}, exitOK, ""},
		{"help", "-h", cpuScanner{}, exitOK, "usage:"},
		{"wrong usage", "-chunk 0 a", cpuScanner{}, exitUsage, "-chunk"},
		{"an argument that does not exist", "a nowhere", cpuScanner{}, exitUsage, "nowhere: no such file"},
		{"an option behind an argument", "a -verify", cpuScanner{}, exitUsage, "options come before"},
		{"a difference", "-verify a", cpuScanner{tamper: flip}, exitReported, "a: the CPU counts otherwise"},
		{"a difference nobody asked for", "a", cpuScanner{tamper: flip}, exitOK, ""},
		{"a transfer that damages", "-verify a", cpuScanner{damaged: []string{"a"}}, exitReported, "a: not all of it arrived"},
		{"the scan fails", "a", cpuScanner{err: errors.New("no runtime")}, exitReported, "no runtime"},
	} {
		for _, form := range []string{"", "-json "} {
			tree(t, map[string]string{"a": "aaa", "d/b": "", "void/": ""})
			var stdout, stderr bytes.Buffer
			got := run(context.Background(), strings.Fields(form+c.args), &stdout, &stderr, c.scanner)
			if got != c.want || !strings.Contains(stderr.String(), c.says) || (c.says == "" && stderr.Len() > 0) {
				t.Errorf("%s%s: status %d, want %d; it says %q", form, c.name, got, c.want, &stderr)
			}
			var object map[string]any
			if err := json.Unmarshal(stdout.Bytes(), &object); form != "" && c.name != "wrong usage" && c.name != "help" && err != nil {
				t.Errorf("%s%s: not one object: %v: %s", form, c.name, err, &stdout)
			}
		}
	}
}

func TestVerifiedIsSaid(t *testing.T) {
	tree(t, map[string]string{"a": "aaa"})
	for args, want := range map[string]string{"a": "null", "-verify a": "true"} {
		var stdout bytes.Buffer
		run(context.Background(), strings.Fields("-json "+args), &stdout, new(bytes.Buffer), cpuScanner{})
		if !strings.Contains(stdout.String(), `"verified":`+want) {
			t.Errorf("%s: not %s in %s", args, want, &stdout)
		}
	}
	var stdout bytes.Buffer
	run(context.Background(), []string{"-verify", "a"}, &stdout, new(bytes.Buffer), cpuScanner{})
	if !strings.Contains(stdout.String(), "verified: the CPU counts the same") {
		t.Errorf("the table does not say it: %s", &stdout)
	}
}

// An interrupt ends the scan between two files: what is complete is printed.
func TestInterrupt(t *testing.T) {
	tree(t, map[string]string{"a": "aaa", "b": "bbb", "c": "ccc"})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var stdout, stderr bytes.Buffer
	s := cpuScanner{after: func(path string) {
		if path == "b" {
			cancel()
		}
	}}
	if got := run(ctx, []string{"-json", "-verify", "."}, &stdout, &stderr, s); got != exitInterrupted {
		t.Errorf("status %d", got)
	}
	var r report
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Files) != 2 || r.Total.Bytes != 6 || len(r.Errors) != 0 || r.Verified == nil || !*r.Verified || !r.Interrupted {
		t.Errorf("%d files, %d bytes, errors %v, verified %v", len(r.Files), r.Total.Bytes, r.Errors, r.Verified)
	}
}

// Nobody takes an interrupted report for a whole one.
func TestInterruptIsSaid(t *testing.T) {
	tree(t, map[string]string{"a": "aaa", "b": "bbb", "c": "ccc"})
	for when, want := range map[string]string{"a": "interrupted: 1 of 3 files", "": "interrupted: 0 of 0 files found so far"} {
		ctx, cancel := context.WithCancel(context.Background())
		if when == "" {
			cancel()
		}
		var stdout, stderr bytes.Buffer
		s := cpuScanner{after: func(string) { cancel() }}
		if got := run(ctx, []string{"."}, &stdout, &stderr, s); got != exitInterrupted {
			t.Errorf("status %d", got)
		}
		cancel()
		if stderr.String() != "producerconsumer: "+want+"\n" || !strings.Contains(stdout.String(), "\n"+want+", ") {
			t.Errorf("not %q: it says %q, and prints %s", want, &stderr, &stdout)
		}
	}
	var stdout, stderr bytes.Buffer
	run(context.Background(), []string{"."}, &stdout, &stderr, cpuScanner{})
	if stderr.Len() > 0 || strings.Contains(stdout.String(), "interrupted") {
		t.Errorf("a whole one says %q, and prints %s", &stderr, &stdout)
	}
}

// More devices asked for than there are is no mistake, and is said.
func TestFewerDevicesThanAskedFor(t *testing.T) {
	tree(t, map[string]string{"a": "aaa"})
	o := usual()
	args := []string{"-runtime", o.runtime, "-virtual", "2"}
	for devices, says := range map[string]string{"3": "-devices is 3, and there are 2", "2": "", "1": ""} {
		var stdout, stderr bytes.Buffer
		got := run(t.Context(), append(args, "-devices", devices, "a"), &stdout, &stderr, gpu{})
		if got != exitOK || !strings.Contains(stderr.String(), says) || says == "" && stderr.Len() > 0 {
			t.Errorf("-devices %s: status %d, it says %q", devices, got, &stderr)
		}
	}
}

// Damage is a difference, and verified says so.
func TestDamageIsNotVerified(t *testing.T) {
	tree(t, map[string]string{"a": "aaa"})
	var stdout bytes.Buffer
	run(context.Background(), []string{"-json", "-verify", "a"}, &stdout, new(bytes.Buffer), cpuScanner{damaged: []string{"a"}})
	if !strings.Contains(stdout.String(), `"verified":false`) {
		t.Errorf("not said in %s", &stdout)
	}
}

// The whole program, on a runtime.
func TestProgram(t *testing.T) {
	tree(t, map[string]string{"a": "aaa", "d/b": random(5000), "d/void": ""})
	o := usual()
	args := []string{"-runtime", o.runtime, "-virtual", strconv.Itoa(o.virtual), "-chunk", "999", "-verify"}
	var stdout, stderr bytes.Buffer
	if got := run(t.Context(), append(args, "-json"), &stdout, &stderr, gpu{}); got != exitOK {
		t.Fatalf("status %d: %s", got, &stderr)
	}
	var r report
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Runtime != o.runtime || len(r.Devices) != 2 || len(r.Files) != 3 || r.Total.Bytes != 5003 || r.Verified == nil || !*r.Verified {
		t.Errorf("got %+v", r)
	}
	stdout.Reset()
	if got := run(t.Context(), args, &stdout, &stderr, gpu{}); got != exitOK {
		t.Fatalf("status %d: %s", got, &stderr)
	}
	for _, want := range []string{"d/void", "total", "bytes by value", "peer:", "3 files, 4.9 KiB in", "verified"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, &stdout)
		}
	}
}

// Verification compares files and their total, each by itself.
func TestDifferences(t *testing.T) {
	ref := newReference()
	ref.count("a", []byte("xy"))
	ref.count("a", []byte("x"))
	ref.count("unread", []byte("zzz")) // read in part, and so not among the files
	a, none := histogramOf("xyx"), histogram{}
	wrong := histogramOf("xyy")
	for _, c := range []struct {
		name  string
		files []fileResult
		total histogram
		want  string
	}{
		{"right", []fileResult{{"a", a}, {"empty", none}}, a, ""},
		{"a file", []fileResult{{"a", wrong}}, a, "a"},
		{"the total", []fileResult{{"a", a}}, wrong, "total"},
		{"bytes from nowhere", []fileResult{{"a", a}, {"empty", wrong}}, a, "empty"},
		{"a file left out", nil, a, "total"},
	} {
		if got := strings.Join(ref.differences(c.files, c.total), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
