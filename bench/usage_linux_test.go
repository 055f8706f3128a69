package bench

import (
	"runtime"
	"testing"
	"time"
)

// A thread that works uses time, and one that there is not has none.
func TestThreadTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := threadTime(threadID())
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(limit); ; {
		now, err := threadTime(threadID())
		if err != nil {
			t.Fatal(err)
		}
		if now >= before+time.Millisecond {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%v, after a minute of work %v", before, now)
		}
	}
	if v, err := threadTime(1 << 25); err == nil {
		t.Errorf("a thread that there is not has used %v", v)
	}
}
