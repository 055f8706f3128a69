//go:build linux || darwin

package sim

import "syscall"

// mapBytes maps memory that takes nothing until it is written.
func mapBytes(n uint64) ([]byte, error) {
	return syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
}

func unmapBytes(b []byte) {
	if err := syscall.Munmap(b); err != nil {
		panic("sim: unmapping memory: " + err.Error())
	}
}
