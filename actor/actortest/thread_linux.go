package actortest

import "syscall"

const threadsKnown = true

func threadID() int { return syscall.Gettid() }
