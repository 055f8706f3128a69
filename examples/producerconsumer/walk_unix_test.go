//go:build unix

package main

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestWalkSkipsWhatIsNoFile(t *testing.T) {
	tree(t, map[string]string{"a": "", "d/b": ""})
	if err := syscall.Mkfifo("d/pipe", 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", "d/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	files, problems, skipped := walked(t, "a", "d", "d/pipe", os.DevNull)
	if !slices.Equal(files, []string{"a", "d/b"}) || problems != nil {
		t.Errorf("files %q, problems %q", files, problems)
	}
	want := []string{"d/pipe: a pipe", "d/socket: a socket", os.DevNull + ": a device"}
	if slices.Sort(skipped); !slices.Equal(skipped, slices.Sorted(slices.Values(want))) {
		t.Errorf("skipped %q, want %q", skipped, want)
	}
}

func TestWalkReportsWhatItCannotRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the superuser can read everything")
	}
	tree(t, map[string]string{"a": "", "shut/b": "", "unlisted/c": ""})
	for name, mode := range map[string]os.FileMode{"shut": 0o300, "unlisted": 0o400} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(name, 0o755) })
	}
	files, problems, _ := walked(t, ".")
	if !slices.Equal(files, []string{"a"}) || !slices.Equal(problems, []string{"shut", "unlisted/c"}) {
		t.Errorf("files %q, problems %q", files, problems)
	}
	// An argument that may exist for all we know is a problem, not wrong usage.
	files, problems, _ = walked(t, "a", "unlisted/c")
	if !slices.Equal(files, []string{"a"}) || !slices.Equal(problems, []string{"unlisted/c"}) {
		t.Errorf("files %q, problems %q", files, problems)
	}
}

// A pipe that took the place of a file has no writer: an open that waits for
// one would never end.
func TestReaderRefusesAPipe(t *testing.T) {
	tree(t, nil)
	if err := syscall.Mkfifo("pipe", 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openReader("pipe"); err == nil || !strings.Contains(err.Error(), "a pipe") {
		t.Errorf("got %v", err)
	}
}

func TestFilesOfProcAreReadToTheirEnd(t *testing.T) {
	const path = "/proc/self/status"
	info, err := os.Stat(path)
	if err != nil {
		t.Skip("no /proc here: ", err)
	}
	h, err := count(path, job{options: options{chunk: 100}, progress: func(int) {}})
	if info.Size() != 0 || err != nil || h.bytes() == 0 {
		t.Errorf("size %d, read %d bytes, %v", info.Size(), h.bytes(), err)
	}
	w, err := walk(context.Background(), []string{path}, nil)
	if err != nil || len(w.files) != 1 {
		t.Errorf("the walk: %v, %v", w, err)
	}
}

func TestReaderOfAFileThatCannotBeOpened(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the superuser can read everything")
	}
	tree(t, map[string]string{"a": "x"})
	if err := os.Chmod("a", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := openReader("a"); !os.IsPermission(err) {
		t.Errorf("got %v", err)
	}
}
