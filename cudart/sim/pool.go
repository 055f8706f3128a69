package sim

import (
	"slices"
	"sync/atomic"

	"github.com/gpuactor/gpuactor/cudart"
)

// pool counts memory of a device. What is freed stays the pool's, until trimmed.
type pool struct {
	memory *memory
	open   [maxDevices / 64]atomic.Uint64 // bit i: kernels of device i may use it

	// Bytes, guarded by memory.mu. used ≤ reserved + freeing.
	used      uint64 // by allocations whose free has not run
	reserved  uint64 // of the device's memory
	freeing   uint64 // of used, what has a free submitted
	destroyed bool
}

// charged is what an allocation of some bytes counts for.
func charged(bytes uint64) uint64 { return (bytes + 1<<alignBits - 1) &^ (1<<alignBits - 1) }

func (p *pool) opensTo(device int) bool { return p.open[device/64].Load()>>(device%64)&1 != 0 }

func (p *pool) openTo(device int) { p.open[device/64].Or(1 << (device % 64)) }

// keep gives unused reserve beyond some bytes back to the device.
func (p *pool) keep(bytes uint64) {
	if to := max(p.used, bytes); to < p.reserved {
		p.memory.reserved -= p.reserved - to
		p.reserved = to
	}
}

// fit is how an allocation can be had.
type fit uint8

const (
	fits      fit = iota
	fitsLater     // in what is being freed, behind those frees
	fitsNot
)

// fitting decides how a pool can give bytes when the device has room bytes
// that no pool has reserved.
func fitting(bytes, used, reserved, freeing, room uint64) fit {
	switch {
	case used+bytes <= reserved+room:
		return fits
	case used-freeing+bytes <= reserved+room:
		return fitsLater
	}
	return fitsNot
}

// charge takes bytes from the pool, which grows as far as needed and possible.
func (p *pool) charge(bytes, room uint64) {
	p.used += bytes
	if p.used > p.reserved {
		grow := min(p.used-p.reserved, room)
		p.reserved += grow
		p.memory.reserved += grow
	}
}

func (r *simulator) CreatePool(ctx cudart.Context) (cudart.Pool, error) {
	const call = "cuMemPoolCreate"
	c, err := r.enter(ctx, call)
	if err != nil {
		return 0, err
	}
	p := &pool{memory: c.device.memory}
	p.openTo(c.device.info.Ordinal)
	h := r.poolTable.put(p)
	if h == 0 {
		return 0, refuse(cudart.ErrOutOfMemory, call, "too many pools")
	}
	return cudart.Pool(h), nil
}

// DestroyPool leaves what is allocated alone; it goes as it is freed.
func (r *simulator) DestroyPool(ctx cudart.Context, h cudart.Pool) error {
	const call = "cuMemPoolDestroy"
	goOn, err := r.letGo(ctx, call)
	if !goOn {
		return err
	}
	p := r.poolTable.take(uintptr(h))
	if p == nil {
		return absent(err, cudart.ErrInvalidValue, call, "no pool %#x", uintptr(h))
	}
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	p.destroyed = true
	p.keep(0)
	return err
}

func (r *simulator) pool(ctx cudart.Context, h cudart.Pool, call string) (*context, *pool, error) {
	c, err := r.enter(ctx, call)
	if err != nil {
		return nil, nil, err
	}
	p := r.poolTable.get(uintptr(h))
	if p == nil {
		return nil, nil, refuse(cudart.ErrInvalidValue, call, "no pool %#x", uintptr(h))
	}
	return c, p, nil
}

func (r *simulator) AllowPeer(ctx cudart.Context, h cudart.Pool, peer int) error {
	const call = "cuMemPoolSetAccess"
	_, p, err := r.pool(ctx, h, call)
	if err != nil {
		return err
	}
	if _, err := r.device(peer, call); err != nil {
		return err
	}
	if home := p.memory.ordinal; peer != home && (r.lies(peer, home) || !r.reaches(peer, home)) {
		return refuse(cudart.ErrInvalidDevice, call, "device %d cannot access memory of device %d", peer, home)
	}
	p.openTo(peer)
	return nil
}

func (r *simulator) TrimPool(ctx cudart.Context, h cudart.Pool, keep uint64) error {
	_, p, err := r.pool(ctx, h, "cuMemPoolTrimTo")
	if err != nil {
		return err
	}
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	p.keep(keep)
	p.memory.trim()
	return nil
}

// Alloc gives memory at once. Where there is only memory whose free is still
// queued it does as the driver does: the stream waits for those frees.
func (r *simulator) Alloc(ctx cudart.Context, h cudart.Pool, bytes uint64, stream cudart.Stream) (cudart.DevicePtr, error) {
	const call = "cuMemAllocFromPoolAsync"
	c, p, err := r.pool(ctx, h, call)
	if err != nil {
		return 0, err
	}
	s, err := r.stream(c, stream, call)
	if err != nil {
		return 0, err
	}
	if bytes == 0 {
		return 0, refuse(cudart.ErrInvalidValue, call, "zero bytes")
	}
	most, short := r.shortage(p.memory.ordinal)
	addr, how, err := p.allocate(bytes, most)
	if how == fitsNot {
		short.hit()
		return 0, refuse(cudart.ErrOutOfMemory, call, "%d bytes of device %d's %d", bytes, p.memory.ordinal, min(p.memory.limit, most))
	}
	if err != nil {
		return 0, refuse(cudart.ErrOutOfMemory, call, "%d bytes: %v", bytes, err)
	}
	if how == fitsLater {
		r.waitForFrees(s)
	}
	s.allocated(cudart.DevicePtr(addr), bytes)
	return cudart.DevicePtr(addr), nil
}

// allocate takes bytes of a device that has most, or its limit.
func (p *pool) allocate(bytes, most uint64) (addr uint64, how fit, err error) {
	m := p.memory
	most = min(most, m.limit)
	if bytes > most {
		return 0, fitsNot, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, room := charged(bytes), most-min(most, m.reserved)
	how = fitting(n, p.used, p.reserved, p.freeing, room)
	if how == fitsNot {
		return 0, how, nil
	}
	if addr, err = m.allocate(p, bytes); err == nil {
		p.charge(n, room)
	}
	return addr, how, err
}

// waitForFrees orders s behind every free that other streams were given.
func (r *simulator) waitForFrees(s *stream) {
	r.mu.Lock()
	var behind []point
	for t := range r.streams {
		if n := t.lastFree.Load(); t != s && t.progress.done.Load() < n {
			behind = append(behind, point{t, n})
		}
	}
	r.mu.Unlock()
	slices.SortFunc(behind, func(a, b point) int { return byNumber(a.stream, b.stream) })
	s.mu.Lock()
	for _, p := range behind {
		s.push(item{op: cudart.OpWait, wait: p}, nil)
	}
	start := s.start()
	s.mu.Unlock()
	if start {
		r.exec.ready(s)
	}
}
