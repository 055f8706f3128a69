package device

import (
	"errors"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// TestF2_TheThreadDoesNotGetItsContextBack: what was allocated by then is nobody's,
// and goes back.
func TestF2_TheThreadDoesNotGetItsContextBack(t *testing.T) {
	if onDriver() {
		t.Skip("needs the simulator's rules")
	}
	r := newRig(t, 0)
	d := r.devs[1]
	for _, f := range []sim.Fault{sim.MemoryFault{Of: sim.Host, Bytes: 4096}, sim.MemoryFault{Of: 1, Bytes: 4096}} {
		sim.Inject(r.rt.Runtime, f)
	}
	for _, take := range []func() error{
		func() error { _, err := d.AllocHost(4096, r.devs[0]); return err },
		func() error {
			p, err := d.mem.source.take(4096)
			if err == nil {
				err = d.mem.source.give(p)
			}
			return err
		},
	} {
		rule := sim.Inject(r.rt.Runtime, sim.CallFault{Call: "cuCtxSetCurrent", Code: cudart.ErrNotPermitted, When: sim.Nth(2)})
		if err := take(); !errors.Is(err, cudart.ErrNotPermitted) {
			t.Errorf("the error is %v", err)
		}
		rule.Lift()
		r.cur = nil
		r.on(r.devs[0])
		r.ok(take()) // all that there is, once more
	}
}
