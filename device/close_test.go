package device

import (
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

// A stream of one device may be writing another's memory when they are closed: that is
// not freed before.
func TestCloseAllWaitsForAllBeforeItFrees(t *testing.T) {
	r := newRig(t, 0)
	near, far := r.devs[0], r.devs[1]
	g := r.gate()
	dst, src := r.alloc(r.stream(near, "near"), 4096), r.alloc(r.stream(far, "far"), 4096)
	s := r.streams[1]
	r.sync(r.streams...)
	g.hold(s)
	r.on(far)
	_, err := s.CopyPeer(far, PeerCopy{Dst: dst.ptr, Src: src.ptr, DstDevice: near, SrcDevice: far, Bytes: 4096})
	r.ok(err)
	for _, s := range append([]*Stream(nil), r.streams...) {
		r.retire(s)
	}
	r.ok(r.rt.SetCurrent(0))
	opened := false // its flag goes with the device
	r.rt.onSync = func(ctx cudart.Context) {
		if ctx == far.ctx && !opened {
			opened = true
			g.open()
		}
	}
	r.ok(CloseAll(r.devs))
	r.devs, r.gates = nil, nil
}
