package actor

import (
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/device"
)

// What is nil is an error that says what is, and leaves nothing.
func TestNilArguments(t *testing.T) {
	sys := newSystem(t)
	before := heldBy(sys)
	d := sys.Device(0)
	fn := func(*Stream) error { return nil }
	props := PropsFromFunc(func(Context) {})
	var none *device.Device
	//lint:ignore SA1012 the test of nil
	base := WithContext(nil)
	for name, c := range map[string]struct {
		start func() (*Ref, error)
		says  string
	}{
		"a function":              {func() (*Ref, error) { return sys.Go("x", d, nil) }, "actor: start x: its function is nil"},
		"props":                   {func() (*Ref, error) { return sys.Spawn("x", d, nil) }, "actor: start x: its props are nil"},
		"a placement":             {func() (*Ref, error) { return sys.Go("x", nil, fn) }, "actor: start x: its placement is nil"},
		"a handler's placement":   {func() (*Ref, error) { return sys.Spawn("x", nil, props) }, "actor: start x: its placement is nil"},
		"a device":                {func() (*Ref, error) { return sys.Go("x", none, fn) }, "the device is nil"},
		"a thread":                {func() (*Ref, error) { return sys.Go("x", On(nil), fn) }, "On was given nil"},
		"somebody to share with":  {func() (*Ref, error) { return sys.Go("x", Sharing(nil), fn) }, "Sharing was given nil"},
		"a context":               {func() (*Ref, error) { return sys.Go("x", d, fn, base) }, "WithContext was given nil"},
		"the device of a thread":  {func() (*Ref, error) { _, err := sys.NewThread(nil); return nil, err }, "actor: the device is nil"},
		"a function of a group's": {func() (*Ref, error) { g := sys.Group(soon(t)); return g.Go("x", d, nil), g.Wait() }, "its function is nil"},
	} {
		if ref, err := c.start(); ref != nil || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	after := heldBy(sys)
	before.goroutines, after.goroutines = 0, 0 // the test's own come and go
	if after != before {
		t.Errorf("held %+v before, %+v after", before, after)
	}
	finish(t, start(t, sys, "launcher", d, func(s *Stream) error {
		if err := s.Launch(nil, device.Linear(1)); err == nil {
			t.Error("nil was launched")
		}
		return nil
	}))
}

func TestOptionsThatMeanNothing(t *testing.T) {
	rt := openRuntime(t)
	defer rt.Close()
	for _, c := range []struct {
		option Option
		says   []string
	}{
		{WithDevices(-1), []string{"WithDevices(-1)"}},
		{WithVirtual(-2), []string{"WithVirtual(-2)"}},
		{WithMaxThreads(-3), []string{"WithMaxThreads(-3)"}},
		{WithMaxThreads(0), []string{"WithMaxThreads(0)"}},
		{WithLogger(nil), []string{"WithLogger"}},
		{WithOrder(nil), []string{"WithOrder"}},
		{WithBudget(1 << 60), []string{"WithBudget(1152921504606846976)", "bytes of memory"}},
	} {
		sys, err := NewSystem(WithOpenRuntime(rt), c.option)
		if err == nil {
			t.Errorf("no error: %s", c.says)
			if err := sys.Close(soon(t)); err != nil {
				t.Error(err)
			}
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%v does not say %q", err, s)
			}
		}
	}
}
