package cudarttest

import (
	"github.com/gpuactor/gpuactor/cudart"
)

var deviceChecks = []check{
	{"describes itself", func(f *fixture) {
		if f.rt.Name() == "" {
			f.Error("the runtime has no name")
		}
		if v := f.rt.DriverVersion(); v < 11020 {
			f.Errorf("DriverVersion %d: pools of memory came with 11020", v)
		}
	}},
	{"lists devices by ordinal", func(f *fixture) {
		infos, err := f.rt.Devices()
		f.ok(err, "Devices")
		for i, d := range infos {
			if d.Ordinal != i {
				f.Errorf("device %d has ordinal %d", i, d.Ordinal)
			}
			if d.Name == "" || d.UUID == ([16]byte{}) || d.Memory == 0 || d.Major == 0 || d.Multiprocessors == 0 {
				f.Errorf("device %d does not describe itself: %+v", i, d)
			}
			// Compute capability 5.0 and up have at least these.
			if d.MaxThreads < 1024 || d.MaxBlock.X < 1024 || d.MaxGrid.Y < 65535 || d.MaxShared < 48<<10 {
				f.Errorf("device %d has smaller limits than any device has: %+v", i, d)
			}
		}
	}},
	{"does not change", func(f *fixture) {
		infos, err := f.rt.Devices()
		f.ok(err, "Devices")
		for i, d := range infos {
			if d != f.infos[i] {
				f.Errorf("device %d was %+v, is %+v", i, f.infos[i], d)
			}
		}
	}},
	{"refuses one that is not there", func(f *fixture) {
		for _, n := range []int{-1, len(f.infos)} {
			_, err := f.rt.RetainPrimary(n)
			f.refused(err, "RetainPrimary", cudart.ErrInvalidDevice)
			_, err = f.rt.CreateContext(n)
			f.refused(err, "CreateContext", cudart.ErrInvalidDevice)
			_, err = f.rt.CanAccessPeer(0, n)
			f.refused(err, "CanAccessPeer", cudart.ErrInvalidDevice)
		}
	}},
	{"has a clock that goes forward", func(f *fixture) {
		last := f.rt.Now()
		for range 1000 {
			now := f.rt.Now()
			if now < last {
				f.Fatalf("the clock went from %v to %v", last, now)
			}
			last = now
		}
	}},
}
