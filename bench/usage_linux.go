package bench

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// threadID is the calling thread.
func threadID() int { return syscall.Gettid() }

// threadTime is the CPU time that a thread of the process has used.
func threadTime(id int) (time.Duration, error) {
	const ofThread, scheduled = 4, 2
	var t syscall.Timespec
	clock := ^id<<3 | ofThread | scheduled
	if _, _, err := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&t)), 0); err != 0 {
		return 0, fmt.Errorf("bench: CPU time of thread %d: %w", id, err)
	}
	return time.Duration(t.Nano()), nil
}

// residentBytes is the memory of the process that is in RAM.
func residentBytes() (uint64, error) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("bench: resident memory: %w", err)
	}
	var total, resident uint64
	if _, err := fmt.Sscan(string(b), &total, &resident); err != nil {
		return 0, fmt.Errorf("bench: resident memory: %w", err)
	}
	return resident * uint64(os.Getpagesize()), nil
}
