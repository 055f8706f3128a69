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

// TestReadme runs each program of README.md as it stands there. It must print what
// the comment at its end says.
func TestReadme(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command on this machine")
	}
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	all := programs(string(text))
	if len(all) != 2 {
		t.Fatalf("README.md shows %d programs", len(all))
	}
	for i, program := range all {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			t.Parallel()
			want, ok := output(program)
			if !ok {
				t.Fatal("it does not say what it prints")
			}
			if got := printed(t, goTool, program); got != want {
				t.Errorf("it prints %q, and says %q", got, want)
			}
		})
	}
}

// printed is what a program prints.
func printed(t *testing.T, goTool, program string) string {
	t.Helper()
	// Inside the module, so that its imports are these packages; a folder with a
	// dot is no package of ./...
	dir, err := os.MkdirTemp(".", ".readme")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), goTool, "run", file)
	if os.Getenv("GPUACTOR_RUNTIME") == "" {
		cmd.Env = append(os.Environ(), "GPUACTOR_RUNTIME=sim")
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	return string(out)
}

// programs are the blocks of Go in a text that are whole programs.
func programs(text string) []string {
	var list []string
	for {
		_, rest, found := strings.Cut(text, "```go\n")
		if !found {
			return list
		}
		block, rest, _ := strings.Cut(rest, "\n```\n")
		if strings.HasPrefix(block, "package main\n") {
			list = append(list, block+"\n")
		}
		text = rest
	}
}

// output is what the comment at a program's end says that it prints.
func output(program string) (string, bool) {
	_, comment, found := strings.Cut(program, "\n// Output:\n")
	lines := strings.ReplaceAll("\n"+comment, "\n// ", "\n")
	return strings.TrimPrefix(lines, "\n"), found
}
