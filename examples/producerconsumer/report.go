package main

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"time"
)

// report is all there is to say about a scan; -json prints it as it is.
type report struct {
	Runtime     string          `json:"runtime"`
	Devices     []string        `json:"devices"`
	Files       []fileReport    `json:"files"` // sorted by path
	Total       counted         `json:"total"`
	Transfers   []transferCount `json:"transfers"`
	Errors      []problem       `json:"errors"`      // sorted by path
	Verified    *bool           `json:"verified"`    // null where not asked for
	Interrupted bool            `json:"interrupted"` // files is not all there is, then

	elapsed     time.Duration
	found       int      // files that there are
	partial     bool     // of those: the search was interrupted
	differences []string // what the CPU counts otherwise
	damaged     []string // what was not transferred right
}

type fileReport struct {
	Path string `json:"path"`
	counted
}

type counted struct {
	Bytes     uint64    `json:"bytes"`
	Entropy   float64   `json:"entropy"` // bits per byte
	Kind      string    `json:"kind"`
	Histogram histogram `json:"histogram"`
}

func describe(h *histogram) counted {
	return counted{Bytes: h.bytes(), Entropy: h.entropy(), Kind: h.kind(), Histogram: *h}
}

// newReport puts together what the walk and the scan found. ref is nil where
// nothing is to be verified.
func newReport(walked found, o outcome, ref *reference, elapsed time.Duration) report {
	// JSON has [] for what is empty, so none of these may be nil.
	r := report{
		Runtime:   o.runtime,
		Devices:   append([]string{}, o.devices...),
		Files:     []fileReport{},
		Total:     describe(&o.total),
		Transfers: append([]transferCount{}, o.transfers...),
		Errors:    append(append([]problem{}, walked.problems...), o.problems...),
		elapsed:   elapsed,
		found:     len(walked.files),
		partial:   walked.partial,
	}
	for _, f := range o.files {
		r.Files = append(r.Files, fileReport{f.path, describe(&f.counts)})
	}
	slices.SortFunc(r.Files, func(a, b fileReport) int { return strings.Compare(a.Path, b.Path) })
	sortProblems(r.Errors)
	if ref != nil {
		r.differences = ref.differences(o.files, o.total)
		r.damaged = o.damaged
		same := len(r.differences)+len(r.damaged) == 0
		r.Verified = &same
	}
	return r
}

// ok reports whether there is nothing that the exit status has to speak of.
func (r *report) ok() bool {
	return len(r.Errors)+len(r.differences)+len(r.damaged) == 0
}

// writeJSON writes one object and a line end.
func (r *report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}
