package main

import "sync"

// reference counts on the CPU, in the plainest way, the very bytes that are
// given to the GPU. (Reading files again would blame the GPU for those that
// change.) Its methods may be called from any goroutine; a nil one does nothing.
type reference struct {
	mu     sync.Mutex
	counts map[string]*histogram // by path
}

func newReference() *reference { return &reference{counts: map[string]*histogram{}} }

// count counts a chunk of the file at path; the order of chunks does not matter.
func (r *reference) count(path string, chunk []byte) {
	if r == nil {
		return
	}
	var h histogram
	for _, b := range chunk {
		h[b]++
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts[path] == nil {
		r.counts[path] = new(histogram)
	}
	r.counts[path].add(&h)
}

// differences names what the GPU counted otherwise: files, and "total".
func (r *reference) differences(files []fileResult, total histogram) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var wrong []string
	var sum histogram
	for _, f := range files {
		want := r.counts[f.path]
		if want == nil {
			want = new(histogram) // an empty file has no chunk
		}
		sum.add(want)
		if f.counts != *want {
			wrong = append(wrong, f.path)
		}
	}
	if sum != total {
		wrong = append(wrong, "total")
	}
	return wrong
}
