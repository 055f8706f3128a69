package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

// Special registers, which PTX declares itself.
var special = map[string]bool{"%globaltimer": true, "%tid": true, "%ntid": true}

// No machine needs a GPU to run these tests, so the text is read for what can be
// seen without compiling it: what is used is declared, what is jumped to is there.
func TestPTXDeclaresWhatItUses(t *testing.T) {
	text := regexp.MustCompile(`//[^\n]*`).ReplaceAllString(image().PTX, "")
	if strings.Contains(text, "NAME") || strings.Contains(text, "LABEL") {
		t.Error("a placeholder is left in the text")
	}
	bodies := regexp.MustCompile(`(?s)\.entry\s+(\w+)\((.*?)\)\s*\{(.*?)\n\}`).FindAllStringSubmatch(text, -1)
	if len(bodies) != len(image().Go) {
		t.Fatalf("%d kernels in PTX, %d in Go", len(bodies), len(image().Go))
	}
	for _, m := range bodies {
		name, params, body := m[1], m[2], m[3]
		declared := map[string]bool{}
		for _, d := range regexp.MustCompile(`\.reg\s+\.\w+([^;]*);`).FindAllStringSubmatch(body, -1) {
			for r := range strings.SplitSeq(d[1], ",") {
				declared[strings.TrimSpace(r)] = true
			}
		}
		for _, r := range regexp.MustCompile(`%\w+`).FindAllString(body, -1) {
			if !declared[r] && !special[r] {
				t.Errorf("%s: register %s is not declared", name, r)
			}
		}
		for _, b := range regexp.MustCompile(`bra (\w+);`).FindAllStringSubmatch(body, -1) {
			if strings.Count(body, "\n"+b[1]+":") != 1 {
				t.Errorf("%s: label %s is not there once", name, b[1])
			}
		}
		for _, p := range regexp.MustCompile(`ld\.param\.\w+ %\w+, \[(\w+)\]`).FindAllStringSubmatch(body, -1) {
			if !regexp.MustCompile(`\b` + p[1] + `\b`).MatchString(params) {
				t.Errorf("%s: parameter %s is not declared", name, p[1])
			}
		}
		for line := range strings.SplitSeq(body, "\n") {
			if line = strings.TrimSpace(line); line != "" && !strings.HasSuffix(line, ";") && !strings.HasSuffix(line, ":") {
				t.Errorf("%s: a line that is no statement: %q", name, line)
			}
		}
	}
}

// A Go kernel is given the parameters that the PTX declares, in their order; a
// launch of any kernel checks that. This is for the images as a whole.
func TestKernelsOfBothForms(t *testing.T) {
	entries, err := cudart.ParsePTX(image().PTX)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if image().Go[e.Name] == nil {
			t.Errorf("kernel %s has no Go function", e.Name)
		}
		if last := e.Params[len(e.Params)-1]; e.Name != "stamp" && (last.Bytes != 8 || last.Pointer) {
			t.Errorf("kernel %s does not end with its time: %+v", e.Name, last)
		}
	}
}

func TestCompare(t *testing.T) {
	data := make([]uint32, 100)
	for i := range data {
		data[i] = used(filled(i, seed))
	}
	if err := compare(data, 100); err != nil {
		t.Error(err)
	}
	data[99]++
	if compare(data, 100) == nil || compare(data[:99], 100) == nil {
		t.Error("wrong data is not noticed")
	}
}
