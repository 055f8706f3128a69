package sim

import "syscall"

const threadsKnown = true

var getCurrentThreadID = syscall.NewLazyDLL("kernel32.dll").NewProc("GetCurrentThreadId")

func threadID() int {
	id, _, _ := getCurrentThreadID.Call()
	return int(id)
}
