package device

import (
	"runtime"
	"testing"

	"github.com/gpuactor/gpuactor/cudart/sim"
)

// TestI6_WhatIsPendingIsNotKnownComplete: an event recorded on the owner's behalf
// stands for what was submitted, and never for what the owner has issued since.
func TestI6_WhatIsPendingIsNotKnownComplete(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	rt := sim.New(sim.Config{Devices: 1})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	devs, err := Open(rt, Options{})
	must(err)
	d := devs[0]
	must(d.Bind())
	s, err := d.NewStream("owner")
	must(err)
	first, err := d.Alloc(s, 4096, false)
	must(err)
	second, err := d.Alloc(s, 4096, false)
	must(err)
	fill := func(b *Block) { must(s.Fill(b.Ptr(), 1, 4, 1024, nil, 0)) }

	fill(first)
	_, err = s.Flush(false)
	must(err)
	first.Release(s.Next())
	fill(second)
	if s.Pending() == 0 {
		t.Fatal("the second fill was submitted at once: the test shows nothing")
	}
	second.Release(s.Next())
	point := second.last

	// Somebody who looks for memory finds the first block's use submitted, and
	// records an event behind it, on the owner's behalf.
	must(d.mem.poll(d))
	must(rt.SynchronizeStream(d.ctx, s.h))
	must(s.Poll())
	if !first.last.Known() {
		t.Error("the first block's use was submitted and is done, and is not known complete")
	}
	if point.Known() {
		t.Error("the second block's use has not even been submitted, and is known complete")
	}

	_, err = s.Flush(true)
	must(err)
	must(rt.SynchronizeStream(d.ctx, s.h))
	must(s.Poll())
	if !point.Known() {
		t.Error("the second block's use is done, and is not known complete")
	}
	must(s.Retire())
	must(d.Unbind())
	must(d.Close())
	must(rt.Close())
}
