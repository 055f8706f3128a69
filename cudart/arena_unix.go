//go:build unix

package cudart

import (
	"fmt"
	"syscall"
	"unsafe"
)

// newArena maps words of zeroed memory outside Go's heap, so that a list can
// hold addresses of itself and cross into C without pinning or cgo's checks.
func newArena(words int) ([]uint64, error) {
	b, err := syscall.Mmap(-1, 0, words*8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("cudart: command arena of %d bytes: %w", words*8, err)
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), words), nil
}

func freeArena(a []uint64) {
	_ = syscall.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(&a[0])), len(a)*8))
}
