//go:build !linux

package bench

import (
	"errors"
	"time"
)

var errUsage = errors.New("bench: what the process uses is read on Linux only")

func threadID() int { return 0 }

func threadTime(int) (time.Duration, error) { return 0, errUsage }

func residentBytes() (uint64, error) { return 0, errUsage }
