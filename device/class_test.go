package device

import "testing"

func TestClassOf(t *testing.T) {
	for _, c := range []struct {
		bytes uint64
		class int
		size  uint64
	}{
		{0, 0, 512},
		{1, 0, 512},
		{512, 0, 512},
		{513, 1, 1024},
		{4095, 7, 4096},
		{4096, 7, 4096},
		{4097, 8, 4608},
		{4608, 8, 4608},
		{4609, 9, 5120},
		{8192, 15, 8192},
		{8193, 16, 9216},
		{1 << 20, 71, 1 << 20},
		{1<<20 + 1, 72, 1<<20 + 1<<17},
		{5 << 30, 169, 5 << 30},
		{MaxAlloc - 1, classCount - 9, MaxAlloc},
		{MaxAlloc, classCount - 9, MaxAlloc},
	} {
		if class, size := classOf(c.bytes); class != c.class || size != c.size {
			t.Errorf("%d bytes: class %d of %d bytes, want class %d of %d", c.bytes, class, size, c.class, c.size)
		}
	}
}

// Every size is in a class that holds it, wastes an eighth at most (above 4 KiB),
// and is no smaller than the class below; the sizes of classes are their own.
func TestClassOfProperties(t *testing.T) {
	lastClass, lastSize := -1, uint64(0)
	check := func(bytes uint64) {
		class, size := classOf(bytes)
		switch {
		case size < bytes || size%grain != 0:
			t.Fatalf("%d bytes: a block of %d", bytes, size)
		case bytes > fineBelow && 8*(size-bytes) > size:
			t.Fatalf("%d bytes: a block of %d wastes more than an eighth", bytes, size)
		case bytes <= fineBelow && size-bytes >= grain:
			t.Fatalf("%d bytes: a block of %d wastes a grain", bytes, size)
		case class < lastClass || class == lastClass && size != lastSize || class > lastClass && size <= lastSize:
			t.Fatalf("%d bytes: class %d of %d behind class %d of %d", bytes, class, size, lastClass, lastSize)
		case class > lastClass+1:
			t.Fatalf("%d bytes: class %d follows class %d", bytes, class, lastClass)
		case class < 0 || class >= classCount:
			t.Fatalf("%d bytes: class %d of %d", bytes, class, classCount)
		}
		if c, s := classOf(size); c != class || s != size {
			t.Fatalf("a block of %d of class %d counts as %d of class %d", size, class, s, c)
		}
		lastClass, lastSize = class, size
	}
	for bytes := uint64(1); bytes < 1<<17; bytes++ {
		check(bytes)
	}
	for e := 17; e < 47; e++ { // around every boundary
		for step := range uint64(8) {
			at := 1<<e + step<<(e-3)
			for _, d := range []int64{-1, 0, 1} {
				check(uint64(int64(at) + d))
			}
		}
	}
	check(MaxAlloc)
}
