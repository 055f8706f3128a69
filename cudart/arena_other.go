//go:build !unix

package cudart

// newArena: where there is no driver the list never leaves Go, and Go's heap
// does not move, so an ordinary slice serves.
func newArena(words int) ([]uint64, error) { return make([]uint64, words), nil }

func freeArena([]uint64) {}
