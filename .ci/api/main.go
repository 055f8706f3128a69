// Command api writes the module's exported API as text, one identifier a line,
// sorted: what a reviewer reads to see what a change does to its users.
//
//	go run ./.ci/api > API.txt   write it
//	go run ./.ci/api --check     compare API.txt with the code, exit 1 on a difference
//
// It reads the compiler's export data, so that inferred types and constant
// values are in it, for linux/amd64 without cgo whatever machine it runs on.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const (
	file = "API.txt"
	head = "# The exported API, one identifier a line. Written by: go run ./.ci/api > API.txt\n"
)

func main() {
	check := flag.Bool("check", false, "compare "+file+" with the code instead of writing")
	flag.Parse()
	if err := run(*check, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func run(check bool, out io.Writer) error {
	pkgs, err := list()
	if err != nil {
		return err
	}
	lines, err := describe(pkgs)
	if err != nil {
		return err
	}
	text := head + strings.Join(lines, "\n") + "\n"
	if !check {
		_, err = io.WriteString(out, text)
		return err
	}
	have, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if d := diff(strings.Split(string(have), "\n"), strings.Split(text, "\n")); len(d) > 0 {
		fmt.Fprintln(out, strings.Join(d, "\n"))
		return errors.New(file + " is not what the code exports: go run ./.ci/api > " + file)
	}
	return nil
}

// pkg is what `go list` says of a package.
type pkg struct {
	ImportPath string
	Name       string
	Export     string // file of export data
	DepOnly    bool
	Module     *struct{ Path string }
}

func list() ([]pkg, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Name,Export,DepOnly,Module", "./...")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return pkgs, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		pkgs = append(pkgs, p)
	}
}

// public reports whether users may import p and rely on it, with the name it
// goes by in the text: its path inside the module.
func public(p pkg) (string, bool) {
	if p.DepOnly || p.Module == nil || p.Name == "main" {
		return "", false
	}
	name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, p.Module.Path), "/")
	elems := strings.Split(name, "/")
	return name, elems[0] != "examples" && elems[0] != "bench" && !slices.Contains(elems, "internal")
}

func describe(pkgs []pkg) ([]string, error) {
	exports := map[string]string{}
	for _, p := range pkgs {
		exports[p.ImportPath] = p.Export
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	var lines []string
	for _, p := range pkgs {
		name, ok := public(p)
		if !ok {
			continue
		}
		t, err := imp.Import(p.ImportPath)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		for _, l := range exported(t) {
			lines = append(lines, name+": "+l)
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// diff compares two sorted lists of lines: "-" is only in old, "+" only in new.
func diff(old, now []string) []string {
	var d []string
	for _, l := range old {
		if !slices.Contains(now, l) {
			d = append(d, "-"+l)
		}
	}
	for _, l := range now {
		if !slices.Contains(old, l) {
			d = append(d, "+"+l)
		}
	}
	if d == nil && !slices.Equal(old, now) {
		d = append(d, "the same lines in another order, or more than once")
	}
	return d
}
