package main

import (
	"context"
	"log/slog"
)

// scanner is the part that needs a GPU.
type scanner interface {
	// scan counts the bytes of the job's files. With an error it returns what it
	// has so far: files that are complete, and the total of exactly those. It
	// returns within a second after ctx ends, with ctx's error.
	//
	// A file that cannot be read to its end is a problem of the outcome, not an
	// error, and is neither among its files nor in its total.
	scan(ctx context.Context, j job) (outcome, error)
}

// job is what there is to scan. Its functions may be called from any goroutine.
type job struct {
	options
	files     []file
	reference *reference      // to be told of each chunk; nil without -verify
	progress  func(bytes int) // to be called for what has been read
	log       *slog.Logger
}

// outcome is what a scan found, in any order.
type outcome struct {
	runtime   string
	devices   []string // names of those used
	files     []fileResult
	total     histogram
	transfers []transferCount
	problems  []problem
	damaged   []string // files of which a device got other bytes than were sent to it; with -verify
}

type fileResult struct {
	path   string
	counts histogram
}

// transferCount is how much went over one kind of route.
type transferCount struct {
	Route string `json:"route"` // upload, download, peer, staged
	Count uint64 `json:"count"`
	Bytes uint64 `json:"bytes"`
}
