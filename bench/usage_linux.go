package bench

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// cpuTime is the CPU time that the process has used.
func cpuTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("bench: CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
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
