// Package examples_test runs what the documentation shows.
package examples_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadme runs each program of README.md as it stands there, and each file of tests.
// A program must print what the comment at its end says, tests must pass.
func TestReadme(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command on this machine")
	}
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	all := blocks(string(text), "package main\n")
	tests := blocks(string(text), "package pipeline\n")
	if len(all) != 2 || len(tests) != 1 {
		t.Fatalf("README.md shows %d programs and %d files of tests", len(all), len(tests))
	}
	t.Run("tests", func(t *testing.T) {
		t.Parallel()
		out := output(t, goTool, "readme_test.go", tests[0], "test", "-v")
		if !strings.Contains(out, "--- PASS: TestHandOver") {
			t.Errorf("it was not run:\n%s", out)
		}
	})
	for i, program := range all {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			t.Parallel()
			want, ok := says(program)
			if !ok {
				t.Fatal("it does not say what it prints")
			}
			if got := output(t, goTool, "main.go", program, "run"); got != want {
				t.Errorf("it prints %q, and says %q", got, want)
			}
		})
	}
}

// output is what the go command prints that is given a file, behind some arguments.
func output(t *testing.T, goTool, name, text string, args ...string) string {
	t.Helper()
	// Inside the module, so that its imports are these packages; a folder with a
	// dot is no package of ./...
	dir, err := os.MkdirTemp(".", ".readme")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), goTool, append(args, file)...)
	if os.Getenv("GPUACTOR_RUNTIME") == "" {
		cmd.Env = append(os.Environ(), "GPUACTOR_RUNTIME=sim")
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, &stderr)
	}
	return string(out)
}

// blocks are the blocks of Go in a text that begin with a package's clause.
func blocks(text, clause string) []string {
	var list []string
	for {
		_, rest, found := strings.Cut(text, "```go\n")
		if !found {
			return list
		}
		block, rest, _ := strings.Cut(rest, "\n```\n")
		if strings.HasPrefix(block, clause) {
			list = append(list, block+"\n")
		}
		text = rest
	}
}

// says is what the comment at a program's end says that it prints.
func says(program string) (string, bool) {
	_, comment, found := strings.Cut(program, "\n// Output:\n")
	lines := strings.ReplaceAll("\n"+comment, "\n// ", "\n")
	return strings.TrimPrefix(lines, "\n"), found
}
