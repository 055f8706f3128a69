//go:build !linux && !windows

package sim

// No number of a thread can be had here without cgo, so all threads are one
// and no check is made.
const threadsKnown = false

func threadID() int { return 0 }
