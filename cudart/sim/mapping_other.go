//go:build !linux && !darwin

package sim

import "unsafe"

const pageBytes = 4096

// mapBytes takes memory of Go's heap, at the start of a page. It is as sparse as
// the system makes it.
func mapBytes(n uint64) ([]byte, error) {
	b := make([]byte, n+pageBytes)
	skip := -uint64(uintptr(unsafe.Pointer(&b[0]))) % pageBytes
	return b[skip : skip+n : skip+n], nil
}

func unmapBytes([]byte) {}
