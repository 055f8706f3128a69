package sim

import (
	"testing"
	"time"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

func TestVirtualSmoke(t *testing.T) {
	g := newRig(t, Config{Clock: Virtual()})
	p := g.alloc(1 << 20)
	h := g.host(1 << 20)
	before := g.r.Now()
	g.submit(g.stream, func(l *cudart.List) {
		g.touch(l, p)
		l.CopyHtoD(p, unsafe.Pointer(&h[0]), 1<<20)
	})
	g.is(g.r.SynchronizeStream(g.ctx, g.stream), 0)
	t.Log(g.r.Now()-before, time.Duration(g.r.virtual.latest))
}
