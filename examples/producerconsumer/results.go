package main

import (
	"sync"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/device"
	"github.com/gpuactor/gpuactor/transfer"
)

// results are what a scan has found so far. Its methods may be called from any
// goroutine, also by those of a scan that was left behind.
type results struct {
	mu    sync.Mutex
	sys   *actor.System
	found outcome
	sum   histogram  // of the complete files
	total *histogram // the same as the GPU has it, once it is known
}

// on says where the scan runs.
func (r *results) on(sys *actor.System, used []*device.Device) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sys = sys
	r.found.runtime = sys.Runtime().Name()
	for _, d := range used {
		r.found.devices = append(r.found.devices, d.Name())
	}
}

// complete takes the counts of a file that was read to its end.
func (r *results) complete(path string, counts histogram) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found.files = append(r.found.files, fileResult{path, counts})
	r.sum.add(&counts)
}

// damage says that a file's bytes are not the same on both devices.
func (r *results) damage(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found.damaged = append(r.found.damaged, path)
}

// fail says that a file could not be read to its end.
func (r *results) fail(path string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found.problems = append(r.found.problems, problem{path, reason(err)})
}

// all takes the counts of all complete files.
func (r *results) all(total histogram) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total = &total
}

// outcome is what is known now. Where the GPU's total is not, because the scan
// failed or was left behind, it is that of the files that are there.
func (r *results) outcome() outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.found
	o.files = append([]fileResult(nil), o.files...)
	o.damaged = append([]string(nil), o.damaged...)
	o.problems = append([]problem(nil), o.problems...)
	o.total = r.sum
	if r.total != nil {
		o.total = *r.total
	}
	if r.sys != nil {
		o.transfers = between(transfer.Counts(r.sys))
	}
	return o
}

// between leaves out what was copied inside a device.
func between(counts []transfer.Count) []transferCount {
	var list []transferCount
	for _, c := range counts {
		if c.Route != transfer.RouteLocal {
			list = append(list, transferCount{string(c.Route), c.Count, c.Bytes})
		}
	}
	return list
}
