//go:build !linux

package actor

// threadID is the same everywhere where the system does not tell it.
func threadID() int { return 0 }

func threadExists(int) bool { return false }
