package sim

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
)

// KernelFault is a kernel that traps, never ends, or is slow.
type KernelFault struct {
	Name string // of the kernel; "" is every kernel
	When When   // of its launches, as they come to run

	// Code, where not 0, is the sticky code that the kernel traps with. None of it runs.
	// It is heard of late, by whatever call comes next, and the machine is lost.
	Code cudart.Code
	// Hangs has it never end, until the machine is lost or closed. None of it runs.
	Hangs bool
	// Slower is by what factor it is slower, 0 being 1, and Extra by what time on top: of
	// real time or of virtual time. A clock that knows no time ignores both.
	Slower float64
	Extra  time.Duration
}

func (f KernelFault) check(int) error {
	slow := f.Slower != 0 || f.Extra != 0
	switch {
	case !f.When.valid():
		return errBadWhen
	case f.Code != 0 && !f.Code.Sticky():
		return fmt.Errorf("%v is not sticky: refuse the launch, by a CallFault", f.Code)
	case f.Code != 0 && (f.Hangs || slow), f.Hangs && slow, f.Code == 0 && !f.Hangs && !slow:
		return errors.New("it does not say one of Code, Hangs, and Slower or Extra")
	case f.Slower != 0 && !(f.Slower >= 1) || math.IsInf(f.Slower, 1) || f.Extra < 0:
		return errors.New("slower by a number that is none, or faster")
	}
	return nil
}

func (f KernelFault) about(kernel string) bool { return f.Name == "" || f.Name == kernel }

// slowness is by what factor, and what time on top, the rules have a launch be slower.
// A clock asks once for each launch.
func (r *simulator) slowness(kernel string) (factor float64, extra time.Duration) {
	factor = 1
	if f := r.faults.Load(); f != nil {
		each(f, func(x *Rule, k KernelFault) {
			if k.Code == 0 && !k.Hangs && k.about(kernel) && x.acts(k.When) > 0 {
				factor *= max(k.Slower, 1)
				extra += k.Extra
			}
		})
	}
	return factor, extra
}
