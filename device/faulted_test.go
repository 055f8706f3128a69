package device

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/sim"
)

// Closing a device that has faulted says so once, and nothing of what it knows is lost.
func TestCloseAfterAFault(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	rt := sim.New(sim.Config{Devices: 1}) // a real GPU would take the other tests with it
	devs, err := Open(rt, Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := devs[0]
	if err := d.Bind(); err != nil {
		t.Fatal(err)
	}
	ends := NewModule(cudart.Image{
		Name: "ends",
		PTX:  ".version 7.0\n.target sm_70\n.visible .entry ends() { ret; }",
		Go:   map[string]cudart.GoKernel{"ends": func(*cudart.KernelCall) { panic("as told") }},
	}).Kernel("ends")
	s, err := d.NewStream("s")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		b, err := d.Alloc(s, 4096, false)
		if err != nil {
			t.Fatal(err)
		}
		b.Release(Point{})
		if _, err := d.AllocHost(1, d); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Launch(1, ends, Linear(1)); err != nil {
		t.Fatal(err)
	}
	_ = s.Retire() // meets the fault, or not yet: Close waits for the launch
	err = d.Close()
	var faulted *FaultedError
	if !errors.As(err, &faulted) || faulted.Calls < 3 || !errors.Is(err, cudart.ErrLaunchFailed) {
		t.Fatalf("%v", err)
	}
	text := err.Error()
	if strings.Count(text, "as told") != 1 || strings.Count(text, "\n") != 0 || !strings.Contains(text, "restart the process") {
		t.Errorf("%q", text)
	}
	if err := rt.SetCurrent(0); err != nil {
		t.Error(err)
	}
	if err := rt.Close(); err != nil {
		t.Error(err)
	}
}

func TestOnce(t *testing.T) {
	lost := func(call string) error { return &cudart.Error{Code: cudart.ErrIllegalAddress, Call: call} }
	other, more := errors.New("other"), errors.New("more")
	if once(nil) != nil {
		t.Error("nothing is an error")
	}
	plain := errors.Join(other, more)
	if once(plain) != plain {
		t.Error("what is no fault was changed")
	}
	err := once(errors.Join(other, errors.Join(lost("a"), fmt.Errorf("in: %w", lost("b"))), more))
	var faulted *FaultedError
	if !errors.As(err, &faulted) || faulted.Calls != 2 || faulted.Fault.Error() != lost("a").Error() {
		t.Errorf("%v", err)
	}
	if !errors.Is(err, other) || !errors.Is(err, more) || strings.Contains(err.Error(), "in: ") {
		t.Errorf("%v", err)
	}
}
