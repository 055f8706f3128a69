package sim

import (
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
)

// DeviceFault has a device fall off the bus. From then on every call fails with the
// code, also those about other devices: a fault of one device takes all contexts of
// the process with it. Another process would go on with the others.
type DeviceFault struct {
	Device int
	// After is how many go well: of the calls about the device, each command of a list
	// among them, or where Running is set of the commands that come to run on its
	// streams. The next one falls.
	After   int
	Running bool
	Code    cudart.Code // a sticky one; 0 is ErrUnknown, what the driver says of a GPU that is gone
}

func (f DeviceFault) check(devices int) error {
	if f.After < 0 {
		return fmt.Errorf("after %d", f.After)
	}
	if f.Code != 0 && !f.Code.Sticky() {
		return fmt.Errorf("%v is not sticky", f.Code)
	}
	return checkDevice(f.Device, devices)
}

func (f DeviceFault) when() When { return Nth(f.After + 1) }

func (f DeviceFault) loss() *loss {
	code := f.Code
	if code == 0 {
		code = cudart.ErrUnknown
	}
	return &loss{code, fmt.Sprintf("device %d has fallen off the bus, by a rule of the simulation", f.Device)}
}
