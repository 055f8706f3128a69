package sim

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// pinned is the host memory that copies may use, by address.
type pinned struct {
	mu      sync.Mutex
	regions []*region // sorted
	size    uint64    // of all of them
}

type region struct {
	ctx   *context
	base  uint64
	size  uint64
	bytes []byte // whole pages
	pins  int
	freed bool
}

// search is the place of the region that p is in or, where there is none, would
// be behind. The caller holds mu.
func (h *pinned) search(p uint64) int {
	i, found := slices.BinarySearchFunc(h.regions, p, func(r *region, p uint64) int {
		switch {
		case r.base < p:
			return -1
		case r.base > p:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	return i
}

// find is the region that holds the whole range, nil for none.
func (h *pinned) find(p, bytes uint64) *region {
	i := h.search(p)
	if i < 0 {
		return nil
	}
	r := h.regions[i]
	if offset := p - r.base; offset > r.size || bytes > r.size-offset {
		return nil
	}
	return r
}

func (h *pinned) known(p, bytes uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.find(p, bytes) != nil
}

// pin keeps a range mapped until it is released (I5). Its bytes are nil where
// it is not pinned memory.
func (h *pinned) pin(p, bytes uint64) (*region, []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.find(p, bytes)
	if r == nil {
		return nil, nil
	}
	r.pins++
	from := p - r.base
	return r, r.bytes[from : from+bytes : from+bytes]
}

func (h *pinned) release(r *region) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.pins--
	if r.freed && r.pins == 0 {
		unmapBytes(r.bytes)
	}
}

// add adds a region, unless that makes more than most bytes.
func (h *pinned) add(r *region, most uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.size+r.size > most {
		return false
	}
	h.size += r.size
	h.regions = slices.Insert(h.regions, h.search(r.base)+1, r)
	return true
}

// free unmaps what is a match, or leaves that to the last copy that uses it.
func (h *pinned) free(match func(*region) bool) (found bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.regions = slices.DeleteFunc(h.regions, func(r *region) bool {
		if !match(r) {
			return false
		}
		found, r.freed = true, true
		h.size -= r.size
		if r.pins == 0 {
			unmapBytes(r.bytes)
		}
		return true
	})
	return found
}

func (h *pinned) drop(c *context) { h.free(func(r *region) bool { return r.ctx == c }) }

func (h *pinned) close() { h.free(func(*region) bool { return true }) }

const hostPage = 4096

func (r *simulator) AllocHost(ctx cudart.Context, bytes uint64) (unsafe.Pointer, error) {
	const call = "cuMemHostAlloc"
	c, err := r.enter(ctx, call)
	if err != nil {
		return nil, err
	}
	switch {
	case bytes == 0:
		return nil, refuse(cudart.ErrInvalidValue, call, "zero bytes")
	case bytes > maxMemory:
		return nil, refuse(cudart.ErrOutOfMemory, call, "%d bytes, at most %d are possible", bytes, maxMemory)
	}
	b, err := mapBytes((bytes + hostPage - 1) &^ (hostPage - 1))
	if err != nil {
		return nil, refuse(cudart.ErrOutOfMemory, call, "%d bytes: %v", bytes, err)
	}
	junk(b[:junkOf(bytes)])
	p := unsafe.Pointer(&b[0])
	most, short := r.shortage(Host)
	if !r.pinned.add(&region{ctx: c, base: uint64(uintptr(p)), size: bytes, bytes: b}, most) {
		unmapBytes(b)
		short.hit()
		return nil, refuse(cudart.ErrOutOfMemory, call, "%d bytes of the host's %d that can be pinned", bytes, most)
	}
	return p, nil
}

func (r *simulator) FreeHost(ctx cudart.Context, p unsafe.Pointer) error {
	const call = "cuMemFreeHost"
	goOn, err := r.letGo(ctx, call)
	base := uint64(uintptr(p))
	if goOn && !r.pinned.free(func(r *region) bool { return r.base == base }) {
		return absent(err, cudart.ErrInvalidValue, call, "%#x is not the address of pinned memory", base)
	}
	return err
}
