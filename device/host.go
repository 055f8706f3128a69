package device

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// hostPool caches pinned host memory by size class. Growing it may synchronise
// the device; in steady state nothing grows.
//
// I5: pinned memory is handed out again only when the point of its last use is
// known complete, since its next user is the CPU, which follows no stream.
type hostPool struct {
	d *Device

	mu       sync.Mutex
	released [classCount]hostQueue
	all      map[*HostBlock]struct{}
	bytes    uint64
}

// HostBlock is pinned host memory of one size class.
type HostBlock struct {
	d     *Device
	ptr   unsafe.Pointer
	bytes uint64
	class int
	last  Point
	next  *HostBlock
}

type hostQueue struct{ first, last *HostBlock }

// Ptr is the memory, outside Go's heap.
func (b *HostBlock) Ptr() unsafe.Pointer { return b.ptr }

// Accessed says that the CPU reads the first bytes of the memory, or writes them, from
// now on, for a runtime that watches that. Any thread may call it.
func (b *HostBlock) Accessed(bytes uint64, write bool) {
	if w := b.d.tells.watcher; w != nil {
		w.HostAccess(b.ptr, bytes, write)
	}
}

// Device is the device whose pool the memory belongs to; copies of any device
// may use it.
func (b *HostBlock) Device() *Device { return b.d }

// AllocHost takes pinned memory of at least bytes. cur is the device whose
// context is current on the caller's thread, nil for none.
func (d *Device) AllocHost(bytes uint64, cur *Device) (*HostBlock, error) {
	if bytes > MaxAlloc {
		return nil, fmt.Errorf("device: %v of pinned memory, more than any machine has: %w", size(bytes), cudart.ErrOutOfMemory)
	}
	class, rounded := classOf(bytes)
	b, err := d.host.reuse(class, cur)
	if b != nil || err != nil {
		return b, err
	}
	b = &HostBlock{d: d, bytes: rounded, class: class}
	grow := func() (err error) {
		b.ptr, err = d.rt.AllocHost(d.ctx, rounded)
		return err
	}
	if cur == d {
		err = grow()
	} else {
		err = d.Do(grow)
	}
	if err != nil {
		err = fmt.Errorf("device: %v of pinned memory: %w", size(rounded), err)
		if b.ptr != nil { // the memory is there, and the thread has not its context back
			err = errors.Join(err, d.Do(func() error { return d.rt.FreeHost(d.ctx, b.ptr) }))
		}
		return nil, err
	}
	d.host.mu.Lock()
	defer d.host.mu.Unlock()
	if d.host.all == nil {
		d.host.all = map[*HostBlock]struct{}{}
	}
	d.host.all[b] = struct{}{}
	d.host.bytes += rounded
	return b, nil
}

// reuse takes the block of a class that was released first, where its last use
// is complete.
func (p *hostPool) reuse(class int, cur *Device) (*HostBlock, error) {
	p.mu.Lock()
	b := p.released[class].first
	var last Point
	if b != nil {
		last = b.last
	}
	p.mu.Unlock()
	if b == nil || last.s != nil && last.n > last.s.given.Load() {
		return nil, nil
	}
	if done, err := last.Done(cur); err != nil || !done {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	q := &p.released[class]
	if b = q.first; b == nil || !b.last.Known() {
		return nil, nil // somebody else was quicker
	}
	if q.first = b.next; q.first == nil {
		q.last = nil
	}
	b.next, b.last = nil, Point{}
	return b, nil
}

// Release ends the use of the memory at p. Any goroutine may call it.
func (b *HostBlock) Release(p Point) {
	h := &b.d.host
	h.mu.Lock()
	defer h.mu.Unlock()
	b.last = p
	q := &h.released[b.class]
	if q.last == nil {
		q.first = b
	} else {
		q.last.next = b
	}
	q.last = b
}

// HostBytes is how much pinned memory the device holds.
func (d *Device) HostBytes() uint64 {
	d.host.mu.Lock()
	defer d.host.mu.Unlock()
	return d.host.bytes
}

func (p *hostPool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for b := range p.all {
		errs = append(errs, p.d.rt.FreeHost(p.d.ctx, b.ptr))
	}
	clear(p.all)
	clear(p.released[:])
	p.bytes = 0
	return errors.Join(errs...)
}
