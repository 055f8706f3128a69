package main

import (
	"context"
	"errors"
	"io"
)

// cpuScanner stands in for the GPU in tests of what surrounds it. tamper, where
// it is set, falsifies a file's counts.
type cpuScanner struct {
	tamper func(*fileResult)
	after  func(path string) // called when a file is done
	err    error

	damaged []string
}

func (s cpuScanner) scan(ctx context.Context, j job) (outcome, error) {
	o := outcome{runtime: "cpu", devices: []string{"a", "b"}, transfers: []transferCount{{"peer", 3, 4096}}, damaged: s.damaged}
	for _, f := range j.files {
		if ctx.Err() != nil {
			return o, ctx.Err()
		}
		counts, err := count(f.path, j)
		if err != nil {
			o.problems = append(o.problems, problem{f.path, reason(err)})
			continue
		}
		r := fileResult{f.path, counts}
		if s.tamper != nil {
			s.tamper(&r)
		}
		o.files = append(o.files, r)
		o.total.add(&r.counts)
		if s.after != nil {
			s.after(f.path)
		}
	}
	return o, s.err
}

func count(path string, j job) (h histogram, err error) {
	r, err := openReader(path)
	if err != nil {
		return h, err
	}
	defer r.close()
	buf := make([]byte, j.chunk)
	for {
		n, err := r.next(buf)
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err != nil {
			return h, err
		}
		for _, b := range buf[:n] {
			h[b]++
		}
		j.reference.count(path, buf[:n])
		j.progress(n)
	}
}
