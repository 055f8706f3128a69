package bench

import "testing"

// What a side counts wrong is no value.
func TestMainJobIsChecked(t *testing.T) {
	j := newMainJob(jobFile + 100)
	if len(j.files) != 2 || len(j.files[1]) != 100 {
		t.Fatalf("%d files, the last of %d bytes", len(j.files), len(j.files[len(j.files)-1]))
	}
	j.plain()
	if err := j.check(); err != nil {
		t.Fatal(err)
	}
	j.counts[1]['e']--
	if j.check() == nil {
		t.Error("a byte of a file was lost, and nobody noticed")
	}
	j.counts[1]['e']++
	j.total['e']++
	if j.check() == nil {
		t.Error("the total has a byte too many, and nobody noticed")
	}
}

// The simulator is measured as such, whatever else the rig runs on.
func TestMainJobIsOnTheSimulator(t *testing.T) {
	r := &Rig{Quick: true, Runtime: "no such runtime"}
	defer r.Close()
	h, err := r.hall(setup{simulated: true})
	if err != nil {
		t.Fatal(err)
	}
	if name, n := h.Runtime().Name(), len(h.Devices()); name != "sim" || n != 2 {
		t.Errorf("%d devices of %s, want 2 of sim", n, name)
	}
	if res := r.Run("main-job", "go-sim"); res.Error != "" {
		t.Error(res.Error)
	}
}
