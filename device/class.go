package device

import "math/bits"

// Blocks come in size classes: multiples of 512 bytes up to 4 KiB, and from
// there eight steps for each doubling, so that at most an eighth of a block is
// waste. 512 bytes is the alignment that CUDA gives every allocation.
const (
	grain      = 512
	fineBelow  = 8 * grain
	stepBits   = 3
	classCount = 8 + (48-12)<<stepBits
)

// MaxAlloc is the largest single allocation, in bytes: more than any device has.
const MaxAlloc = 1 << 47

// classOf is the class for a size in bytes (1 to MaxAlloc), and the class's size.
func classOf(bytes uint64) (class int, size uint64) {
	bytes = max(bytes, 1)
	if bytes <= fineBelow {
		n := (bytes + grain - 1) / grain
		return int(n) - 1, n * grain
	}
	e := bits.Len64(bytes-1) - 1 // 2^e < bytes <= 2^(e+1)
	step := uint64(1) << (e - stepBits)
	n := (bytes - 1 - 1<<e) >> (e - stepBits) // 0 … 7: how many whole steps lie below
	return 8 + (e-12)<<stepBits + int(n), 1<<e + (n+1)*step
}
