package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

func TestReaderChunks(t *testing.T) {
	for _, c := range []struct {
		data  string
		chunk int
		want  string // chunks, separated
	}{
		{"", 4, ""},
		{"abc", 4, "abc"},
		{"abcd", 4, "abcd"},
		{"abcde", 4, "abcd|e"},
		{"abcdefgh", 4, "abcd|efgh"},
		{"abc", 1, "a|b|c"},
	} {
		tree(t, map[string]string{"f": c.data})
		r, err := openReader("f")
		if err != nil {
			t.Fatal(err)
		}
		var chunks []string
		buf := make([]byte, c.chunk)
		for {
			n, err := r.next(buf)
			if n > 0 && err == nil {
				chunks = append(chunks, string(buf[:n]))
				continue
			}
			if n != 0 || !errors.Is(err, io.EOF) {
				t.Errorf("%q by %d: ended with %d, %v", c.data, c.chunk, n, err)
			}
			break
		}
		if n, err := r.next(buf); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%q by %d: after the end %d, %v", c.data, c.chunk, n, err)
		}
		r.close()
		if got := strings.Join(chunks, "|"); got != c.want {
			t.Errorf("%q by %d: got %q, want %q", c.data, c.chunk, got, c.want)
		}
	}
}

// A file that grows between two chunks is read to where it ends then.
func TestReaderFollowsAFileThatGrows(t *testing.T) {
	tree(t, map[string]string{"f": "abcd"})
	r, err := openReader("f")
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	buf := make([]byte, 4)
	if n, err := r.next(buf); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	if err := os.WriteFile("f", []byte("abcdef"), 0o644); err != nil {
		t.Fatal(err)
	}
	if n, err := r.next(buf); n != 2 || err != nil || string(buf[:n]) != "ef" {
		t.Errorf("got %q, %v", buf[:n], err)
	}
}

func TestReaderRefusesADirectory(t *testing.T) {
	tree(t, map[string]string{"d/": ""})
	if _, err := openReader("d"); err == nil {
		t.Error("a directory was opened")
	}
}
