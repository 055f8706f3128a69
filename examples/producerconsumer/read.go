package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// reader reads a file in chunks, to its end, whatever its size says: files of
// /proc say 0, and others grow meanwhile.
type reader struct {
	f   *os.File
	end bool
}

// openReader opens a regular file. It does not wait: what has become a pipe since
// it was found is refused, and so is a file that has nothing to read yet.
func openReader(path string) (*reader, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("it has become %s", what(info.Mode()))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &reader{f: f}, nil
}

// next fills buf, which is not empty, and returns how many bytes it holds:
// fewer than its length only at the end, and then, or next time, 0 with io.EOF.
func (r *reader) next(buf []byte) (int, error) {
	if r.end {
		return 0, io.EOF
	}
	n, err := io.ReadFull(r.f, buf)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		r.end, err = true, nil
	}
	return n, err
}

func (r *reader) close() { r.f.Close() }
