package actor

import "syscall"

// threadID is the number of the calling OS thread.
func threadID() int { return syscall.Gettid() }
