package actor

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// A nap is a sleep of the calling thread in the kernel, which ends 4 µs late. A timer
// of Go's ends up to 1 ms late, since the runtime waits in whole milliseconds, and wakes
// a locked thread by way of another one.
const canNap = true

const (
	futexWait     = 0 | 128 // within the process
	futexWake     = 1 | 128
	setTimerSlack = 29
)

// exactNaps asks the kernel not to delay the calling thread's naps, by up to 50 µs as
// it does to wake for several timers at once. Where it refuses they are later.
func exactNaps() { _, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, 1, 0) }

// nap sleeps for d, until endNap, or not at all where the word is no longer v. It may
// also end for no reason.
func nap(word *atomic.Int32, v int32, d time.Duration) {
	t := syscall.NsecToTimespec(d.Nanoseconds())
	_, _, _ = syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(v), uintptr(unsafe.Pointer(&t)), 0, 0)
}

// endNap ends a nap on the word, which has been changed before. Any thread may call it.
func endNap(word *atomic.Int32) {
	_, _, _ = syscall.RawSyscall(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1)
}
