package sim

import (
	"fmt"
	"os"
	"testing"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

func residentMiB(t *testing.T) int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var total, resident int
	if _, err := fmt.Sscan(string(text), &total, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize() >> 20
}

// A copy of more than 4 GiB, of which little was written, takes little.
func TestUntouchedMemoryTakesNothing(t *testing.T) {
	const size = 5<<30 + 3
	g := newRig(t, Config{Memory: 11 << 30})
	p, q := g.alloc(size), g.alloc(size)
	h := g.host(16)
	copy(h, "near the end")
	before := residentMiB(t)
	g.submit(g.stream, func(l *cudart.List) {
		l.Fill(p, 0, 1, size)
		l.CopyHtoD(p+size-12, unsafe.Pointer(&h[0]), 12)
		l.CopyDtoD(q, p, size)
		l.Fill(p, 0, 1, size)
		l.CopyDtoH(unsafe.Pointer(&h[0]), q+size-11, 11)
	})
	g.is(g.r.SynchronizeStream(g.ctx, g.stream), 0)
	if string(h[:11]) != "ear the end" {
		t.Fatalf("%q arrived", h[:11])
	}
	if grew := residentMiB(t) - before; grew > 200 {
		t.Fatalf("%d MiB for memory that nobody wrote", grew)
	}
}
