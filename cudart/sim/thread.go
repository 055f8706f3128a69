package sim

import (
	"sync"

	"github.com/gpuactor/gpuactor/cudart"
)

// threads knows which context is current on which OS thread. It is split by
// the thread's number so that threads seldom meet at a lock.
type threads struct{ parts [64]threadPart }

type threadPart struct {
	mu      sync.Mutex
	current map[int]cudart.Context
	_       [48]byte // a cache line of its own
}

func (t *threads) part(id int) *threadPart { return &t.parts[uint(id)%uint(len(t.parts))] }

// set makes ctx current on this thread; none removes the thread's entry.
func (t *threads) set(ctx cudart.Context) {
	id := threadID()
	p := t.part(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx == 0 {
		delete(p.current, id)
		return
	}
	if p.current == nil {
		p.current = map[int]cudart.Context{}
	}
	p.current[id] = ctx
}

func (t *threads) get() cudart.Context {
	id := threadID()
	p := t.part(id)
	p.mu.Lock()
	ctx := p.current[id]
	p.mu.Unlock()
	return ctx
}
