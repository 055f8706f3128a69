//go:build !linux

package bench

import (
	"errors"
	"time"
)

var errUsage = errors.New("bench: what the process uses is read on Linux only")

func cpuTime() (time.Duration, error) { return 0, errUsage }

func residentBytes() (uint64, error) { return 0, errUsage }
