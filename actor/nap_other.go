//go:build !linux

package actor

import (
	"sync/atomic"
	"time"
)

// Here threads wait by timers.
const canNap = false

func exactNaps()                              {}
func nap(*atomic.Int32, int32, time.Duration) {}
func endNap(*atomic.Int32)                    {}
