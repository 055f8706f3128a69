package device

import "testing"

// What has been waited for is remembered for more streams than are found at once,
// and the latest word on a stream counts.
func TestWaits(t *testing.T) {
	var w waits
	for round := range uint64(3) {
		for id := uint32(1); id <= 9; id++ {
			if got, want := w.upTo(id), round*10*uint64(id); got != want {
				t.Errorf("round %d: stream %d was waited for up to %d, want %d", round, id, got, want)
			}
			w.raise(id, (round+1)*10*uint64(id))
		}
	}
}
