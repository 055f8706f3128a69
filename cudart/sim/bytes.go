package sim

import "bytes"

// Memory that nobody wrote is not backed by anything. It stays so through copies
// and fills of any length: a piece that already holds what it should is not
// written. Short ranges are not worth the look.
const (
	piece     = 64 << 10
	sparseMin = 1 << 20

	junkMax  = 1 << 20 // allocations up to this are junk throughout,
	junkHead = 4 << 10 // larger ones at their start
)

var (
	zeros    [piece]byte
	junkFull = func() (b [piece]byte) {
		for i := range b {
			b[i] = 0xA5
		}
		return b
	}()
)

func copySparse(dst, src []byte) {
	if len(dst) < sparseMin {
		copy(dst, src)
		return
	}
	for len(dst) > 0 {
		n := min(piece, len(dst))
		if !bytes.Equal(dst[:n], src[:n]) {
			copy(dst[:n], src[:n])
		}
		dst, src = dst[n:], src[n:]
	}
}

// fillSparse fills b with elements of width bytes, little endian.
func fillSparse(b []byte, pattern uint32, width int) {
	if pattern<<(32-8*width) == 0 && len(b) >= sparseMin {
		for len(b) > 0 {
			n := min(piece, len(b))
			if !bytes.Equal(b[:n], zeros[:n]) {
				clear(b[:n])
			}
			b = b[n:]
		}
		return
	}
	for i := range width {
		b[i] = byte(pattern >> (8 * i))
	}
	for n := width; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// junkOf is how much of an allocation is made junk.
func junkOf(size uint64) uint64 {
	if size > junkMax {
		return junkHead
	}
	return size
}

func junk(b []byte) {
	for len(b) > 0 {
		b = b[copy(b, junkFull[:]):]
	}
}
