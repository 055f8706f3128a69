package transfer_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadme runs the program that README.md shows, as it stands there.
func TestReadme(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command on this machine")
	}
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, found := strings.Cut(string(text), "```go\n")
	program, _, ended := strings.Cut(program, "```")
	if !found || !ended {
		t.Fatal("README.md shows no program")
	}
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
	cmd := exec.Command(goTool, "run", file)
	cmd.Env = append(os.Environ(), "GPUACTOR_RUNTIME=sim")
	out, err := cmd.Output()
	if want := "[0 0]\n[1 1]\n[2 4]\n"; err != nil || string(out) != want {
		t.Errorf("the program printed %q, %v; want %q", out, err, want)
	}
}
