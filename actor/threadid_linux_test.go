package actor

import (
	"os"
	"strconv"
	"syscall"
)

// threadID is the number of the calling OS thread.
func threadID() int { return syscall.Gettid() }

// threadExists reports whether the process still has an OS thread.
func threadExists(id int) bool {
	_, err := os.Stat("/proc/self/task/" + strconv.Itoa(id))
	return err == nil
}
