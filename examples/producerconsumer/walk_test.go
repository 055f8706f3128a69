package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree makes files with their contents below a new directory, and goes there.
// A name that ends in / is a directory.
func tree(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, data := range files {
		dir := filepath.Dir(name)
		if strings.HasSuffix(name, "/") {
			dir = name
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if dir == name {
			continue
		}
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Skip("symbolic links are not to be had: ", err)
	}
}

// walked is a walk's result as text: paths with sizes, problems, what it skipped.
func walked(t *testing.T, args ...string) (files, problems, skipped []string) {
	t.Helper()
	w, err := walk(context.Background(), args, func(path, what string) { skipped = append(skipped, path+": "+what) })
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range w.files {
		files = append(files, filepath.ToSlash(f.path))
	}
	for _, p := range w.problems {
		problems = append(problems, filepath.ToSlash(p.Path))
		if strings.Contains(p.Error, p.Path) || p.Error == "" {
			t.Errorf("a problem repeats its path, or says nothing: %+v", p)
		}
	}
	return files, problems, skipped
}

func TestWalk(t *testing.T) {
	tree(t, map[string]string{"a": "1", "d/x": "22", "d/e/y": "", "d/.hidden": "3", "void/": "", "b": ""})
	link(t, "a", "link-to-a")
	link(t, "d", "link-to-d")
	link(t, "../d", "d/loop")
	link(t, "nowhere", "d/dangling")
	abs, err := filepath.Abs("a")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, args, want string
	}{
		{"the current directory; links in it are not followed", ".", "a b d/.hidden d/e/y d/x"},
		{"an empty directory", "void", ""},
		{"a file", "a", "a"},
		{"a file as it was given", "./a", "./a"},
		{"sorted, not in the order given", "d b a", "a b d/.hidden d/e/y d/x"},
		{"a link given is followed, to a file", "link-to-a", "link-to-a"},
		{"and to a directory", "link-to-d", "link-to-d/.hidden link-to-d/e/y link-to-d/x"},
		{"the same file twice, however spelled", "a ./a d/../a " + abs, "a"},
		{"a directory, and a part of it", "d d/e d/e/y", "d/.hidden d/e/y d/x"},
		{"a part before the whole", "d/e d", "d/.hidden d/e/y d/x"},
		{"a link is a path of its own", "a link-to-a", "a link-to-a"},
	} {
		files, problems, skipped := walked(t, strings.Fields(c.args)...)
		if !slices.Equal(files, strings.Fields(c.want)) || problems != nil || skipped != nil {
			t.Errorf("%s: got %q, problems %q, skipped %q; want %q", c.name, files, problems, skipped, c.want)
		}
	}
}

func TestWalkPassesOverNoName(t *testing.T) {
	tree(t, map[string]string{"a": "", ".git/x": "", ".hidden": ""})
	files, problems, skipped := walked(t, ".")
	if want := ".git/x .hidden a"; !slices.Equal(files, strings.Fields(want)) || problems != nil || skipped != nil {
		t.Errorf("got %q, problems %q, skipped %q; want %s", files, problems, skipped, want)
	}
}

func TestWalkRefusesWhatDoesNotExist(t *testing.T) {
	tree(t, map[string]string{"a": ""})
	link(t, "nowhere", "dangling")
	for args, want := range map[string]struct{ problems, hint string }{
		"no":             {"no: no such file or directory", "must exist"},
		"a/below-a-file": {"a/below-a-file: no such file or directory", "must exist"},
		"dangling":       {`dangling: a symbolic link to "nowhere", which does not exist`, "must exist"},
		"a no neither":   {"no: no such file or directory; neither: no such file or directory", "must exist"},
		"a -verify":      {"-verify: no such file or directory", "options come before"},
		"a -":            {"-: no such file or directory", "must exist"},
	} {
		w, err := walk(context.Background(), append(strings.Fields(args), "a"), func(string, string) {})
		var got []string
		for _, p := range w.problems {
			got = append(got, p.Path+": "+p.Error)
		}
		if !isUsage(err) || w.files != nil || strings.Join(got, "; ") != want.problems || !strings.Contains(err.Error(), want.hint) {
			t.Errorf("%q: got %q, %v", args, got, err)
		}
	}
	if w, err := walk(context.Background(), []string{""}, nil); !isUsage(err) || len(w.problems) != 1 {
		t.Errorf("an empty argument: %v, %v", w, err)
	}
}

func TestWalkEndsWithItsContext(t *testing.T) {
	tree(t, map[string]string{"a": "", "d/b": ""})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w, err := walk(ctx, []string{"."}, func(string, string) {})
	if err != nil || len(w.files) != 0 || !w.partial {
		t.Errorf("got %v, %v", w, err)
	}
}

func TestWalkStatesSizes(t *testing.T) {
	tree(t, map[string]string{"a": "four"})
	w, err := walk(context.Background(), []string{"a"}, nil)
	if err != nil || len(w.files) != 1 || w.files[0] != (file{"a", 4}) {
		t.Errorf("got %v, %v", w, err)
	}
}
