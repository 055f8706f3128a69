package check

import (
	"fmt"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check/internal/order"
)

// Alloc is part of [cudart.Runtime].
func (c *Checker) Alloc(ctx cudart.Context, p cudart.Pool, bytes uint64, s cudart.Stream) (cudart.DevicePtr, error) {
	c.mu.Lock()
	defer c.unlock()
	at, err := c.Runtime.Alloc(ctx, p, bytes, s)
	if err == nil {
		c.space.put(uint64(at), c.e.Alloc(c.stream(ctx, s).s, c.note("alloc"), fmt.Sprintf("%d bytes at %#x", bytes, uint64(at)), bytes), nil)
	}
	return at, err
}

// AllocHost is part of [cudart.Runtime].
func (c *Checker) AllocHost(ctx cudart.Context, bytes uint64) (unsafe.Pointer, error) {
	c.mu.Lock()
	defer c.unlock()
	p, err := c.Runtime.AllocHost(ctx, bytes)
	if err == nil {
		c.space.put(address(p), c.e.NewBuffer(fmt.Sprintf("%d pinned bytes at %#x", bytes, address(p)), bytes), c.context(ctx))
	}
	return p, err
}

// FreeHost is part of [cudart.Runtime].
func (c *Checker) FreeHost(ctx cudart.Context, p unsafe.Pointer) error {
	c.mu.Lock()
	defer c.unlock()
	err := c.Runtime.FreeHost(ctx, p)
	b, off := c.space.at(address(p))
	if b == nil || off != 0 || err != nil && !b.Freed() {
		return err
	}
	c.e.Host(c.note("free of pinned memory"), b.All(order.Free))
	c.space.drop(address(p), b)
	return err
}

// HostAccess is part of [cudart.HostWatcher]: the CPU reads the memory, or writes it,
// from now on until the next command that uses it is issued.
func (c *Checker) HostAccess(p unsafe.Pointer, bytes uint64, write bool) {
	op, act := "host read", order.Read
	if write {
		op, act = "host write", order.Write
	}
	c.mu.Lock()
	defer c.unlock()
	if b, off := c.space.at(address(p)); b != nil {
		c.e.Host(c.note(op), b.At(off, bytes, act))
	}
	if w, ok := c.Runtime.(cudart.HostWatcher); ok {
		w.HostAccess(p, bytes, write)
	}
}

// NameMemory says what memory is called in reports: the address is that of its first
// byte, of a device or of the host. Nothing happens where the checker knows no such memory.
func (c *Checker) NameMemory(at uint64, name string) {
	c.mu.Lock()
	defer c.unlock()
	if b, _ := c.space.at(at); b != nil {
		b.Name = name
	}
}

func address(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }
