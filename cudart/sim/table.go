package sim

import (
	"sync"
	"sync/atomic"
)

// A handle holds the kind of thing in bits 0–2, its index in bits 3–23, and
// above them how often the index was given out, so that a handle of something
// destroyed, or of something else, is noticed.
const (
	kindBits  = 3
	indexBits = 21
	pageBits  = 9
)

// table turns handles into things. get takes no lock: it is on the hot path.
type table[T any] struct {
	kind  uintptr
	pages [1 << (indexBits - pageBits)]atomic.Pointer[[1 << pageBits]slot[T]]

	mu   sync.Mutex
	used int
	free []int
}

type slot[T any] struct {
	handle atomic.Uintptr // zero where empty
	value  atomic.Pointer[T]
	times  uintptr // guarded by the table's mu
}

// put gives v a handle, zero where the table is full.
func (t *table[T]) put(v *T) uintptr {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.used
	if n := len(t.free); n > 0 {
		i = t.free[n-1]
		t.free = t.free[:n-1]
	} else if i == 1<<indexBits {
		return 0
	} else {
		t.used++
		if i&(1<<pageBits-1) == 0 {
			t.pages[i>>pageBits].Store(new([1 << pageBits]slot[T]))
		}
	}
	s := &t.pages[i>>pageBits].Load()[i&(1<<pageBits-1)]
	s.times++
	h := t.kind | uintptr(i)<<kindBits | s.times<<(kindBits+indexBits)
	s.value.Store(v)
	s.handle.Store(h) // behind the value: who sees the handle sees the value
	return h
}

func (t *table[T]) slot(h uintptr) (s *slot[T], index int) {
	if h&(1<<kindBits-1) != t.kind {
		return nil, 0
	}
	i := int(h >> kindBits & (1<<indexBits - 1))
	page := t.pages[i>>pageBits].Load()
	if page == nil {
		return nil, 0
	}
	return &page[i&(1<<pageBits-1)], i
}

// get is the thing behind a handle, nil where there is none (any more).
func (t *table[T]) get(h uintptr) *T {
	s, _ := t.slot(h)
	if s == nil {
		return nil
	}
	v := s.value.Load()
	if s.handle.Load() != h {
		return nil
	}
	return v
}

// take removes a thing, and returns it to the one caller that did.
func (t *table[T]) take(h uintptr) *T {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, i := t.slot(h)
	if s == nil || s.handle.Load() != h {
		return nil
	}
	v := s.value.Load()
	s.handle.Store(0)
	s.value.Store(nil)
	t.free = append(t.free, i)
	return v
}

// drop removes everything that is a match.
func (t *table[T]) drop(match func(*T) bool) {
	t.mu.Lock()
	used := t.used
	t.mu.Unlock()
	for i := range used {
		s := &t.pages[i>>pageBits].Load()[i&(1<<pageBits-1)]
		h, v := s.handle.Load(), s.value.Load()
		if h != 0 && v != nil && match(v) {
			t.take(h)
		}
	}
}
