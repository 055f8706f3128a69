//go:build !linux

package actortest

// Without numbers of OS threads nobody knows whose turn is interrupted.
const threadsKnown = false

func threadID() int { return 0 }
