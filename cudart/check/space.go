package check

import (
	"slices"

	"github.com/gpuactor/gpuactor/cudart/check/internal/order"
)

// region is what memory at an address is.
type region struct {
	from, to uint64
	b        *order.Buffer
	of       *context // that pinned memory goes with; nil for a device's
}

// freedKept is how many freed buffers are remembered whose addresses have not been
// given out again; the oldest are forgotten.
const freedKept = 1024

// space is the memory that the checker knows, by address; device memory and the host's
// have no address in common.
type space struct {
	regions []region // ascending, disjoint
	freed   []region // in the order of their frees; some have been replaced since
}

// index is the place of the first region that ends behind an address.
func (s *space) index(at uint64) int {
	i, _ := slices.BinarySearchFunc(s.regions, at, func(r region, at uint64) int {
		if r.to <= at {
			return -1
		}
		return 1
	})
	return i
}

// put makes b what is at an address from now on.
func (s *space) put(at uint64, b *order.Buffer, of *context) {
	r := region{at, at + b.Bytes, b, of}
	first := s.index(r.from)
	last := first
	for last < len(s.regions) && s.regions[last].from < r.to {
		last++
	}
	s.regions = slices.Replace(s.regions, first, last, r)
}

// at is the memory that an address is in, and where in it.
func (s *space) at(p uint64) (b *order.Buffer, off uint64) {
	if i := s.index(p); i < len(s.regions) && s.regions[i].from <= p {
		return s.regions[i].b, p - s.regions[i].from
	}
	return nil, 0
}

// pinnedOf is the pinned memory of a context that has not been freed.
func (s *space) pinnedOf(x *context) (all []region) {
	for _, r := range s.regions {
		if r.of == x && !r.b.Freed() {
			all = append(all, r)
		}
	}
	return all
}

// drop notes that b, at an address, has been freed.
func (s *space) drop(at uint64, b *order.Buffer) {
	s.freed = append(s.freed, region{from: at, to: at + b.Bytes, b: b})
	if len(s.freed) < 2*freedKept {
		return
	}
	for _, r := range s.freed[:freedKept] {
		if i := s.index(r.from); i < len(s.regions) && s.regions[i].b == r.b {
			s.regions = slices.Delete(s.regions, i, i+1)
		}
	}
	s.freed = slices.Delete(s.freed, 0, freedKept)
}
