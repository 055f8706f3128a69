package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// file is something to scan.
type file struct {
	path string // as given, or as found below a directory that was given
	size int64  // as the file system states it: good for a progress bar only
}

// problem is a file or directory that could not be scanned.
type problem struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// found is what a walk comes back with, sorted by path.
type found struct {
	files    []file
	problems []problem
	partial  bool // interrupted
}

// walk finds the regular files that args name or contain. A symbolic link is
// followed where it is an argument, and passed over where it is met in a
// directory, so that no walk is endless. What is neither file nor directory is
// passed over with a word to skip. A file reached twice by one path, however that is
// spelled, is listed once, as first spelled; links are paths of their own.
//
// The error is a usageError where arguments do not exist, which are the problems
// then, and nothing is found. A walk whose context ends returns what it has.
func walk(ctx context.Context, args []string, skip func(path, what string)) (found, error) {
	w := walker{ctx: ctx, skip: skip, seen: map[string]bool{}}
	infos := make([]fs.FileInfo, len(args))
	var missing []problem
	for i, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case notThere(err):
			missing = append(missing, problem{arg, whyMissing(arg)})
		case err != nil:
			w.problem(arg, err)
		default:
			infos[i] = info
		}
	}
	if missing != nil {
		return found{problems: missing}, refusal(missing)
	}
	for i, info := range infos {
		if info != nil {
			w.visit(args[i], info)
		}
	}
	slices.SortFunc(w.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	sortProblems(w.problems)
	w.partial = ctx.Err() != nil
	return w.found, nil
}

// whyMissing tells a link that leads nowhere from what is not there at all.
func whyMissing(arg string) string {
	if to, err := os.Readlink(arg); err == nil {
		return fmt.Sprintf("a symbolic link to %q, which does not exist", to)
	}
	return "no such file or directory"
}

// refusal says that nothing is scanned, with a hint where an argument looks as if
// it was meant as an option.
func refusal(missing []problem) error {
	if slices.ContainsFunc(missing, func(p problem) bool { return len(p.Path) > 1 && p.Path[0] == '-' }) {
		return usageError("nothing is scanned: options come before files and directories")
	}
	return usageError("nothing is scanned: every argument must exist")
}

func sortProblems(p []problem) {
	slices.SortStableFunc(p, func(a, b problem) int { return strings.Compare(a.Path, b.Path) })
}

// notThere: a path through a file, "a.txt/b", does not exist either.
func notThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

type walker struct {
	found
	ctx  context.Context
	skip func(path, what string)
	seen map[string]bool // absolute paths
}

func (w *walker) visit(path string, info fs.FileInfo) {
	if w.ctx.Err() != nil || w.again(path) {
		return
	}
	switch {
	case info.IsDir():
		w.directory(path)
	case info.Mode().IsRegular():
		w.files = append(w.files, file{path, info.Size()})
	default:
		w.skip(path, what(info.Mode()))
	}
}

// directory visits what a directory holds. Where it can be read in part, that
// part is scanned and the rest is reported.
func (w *walker) directory(path string) {
	entries, err := os.ReadDir(path)
	if err != nil {
		w.problem(path, err)
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			continue
		}
		below := filepath.Join(path, e.Name())
		info, err := e.Info()
		if err != nil {
			w.problem(below, err)
			continue
		}
		w.visit(below, info)
	}
}

func (w *walker) again(path string) bool {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = filepath.Clean(path)
	}
	was := w.seen[abs]
	w.seen[abs] = true
	return was
}

func (w *walker) problem(path string, err error) {
	w.problems = append(w.problems, problem{path, reason(err)})
}

// reason is err without the path, which stands beside it.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Op + ": " + p.Err.Error()
	}
	return err.Error()
}

func what(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "not a regular file"
}
