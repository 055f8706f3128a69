package sim

import (
	"errors"
	"math"
)

// MemoryFault is memory that runs out early: an allocation that would bring what is
// allocated above a size is refused with ErrOutOfMemory. MemInfo goes on promising
// all of it, as it does where memory is in pieces. For allocations that fail from
// the nth on there is [CallFault].
type MemoryFault struct {
	Of    int    // a device, or Host: pinned memory, of all contexts together
	Bytes uint64 // that there are
}

func (f MemoryFault) check(devices int) error {
	if f.Bytes == 0 {
		return errors.New("no bytes: use a CallFault")
	}
	return checkDevice(f.Of, devices, Host)
}

// hit counts a refusal; of no rule it does nothing.
func (x *Rule) hit() {
	if x != nil {
		x.acts(When{})
	}
}

// shortage is how much memory the rules leave, and the rule that says so: nil where
// none does.
func (r *simulator) shortage(of int) (bytes uint64, by *Rule) {
	bytes = math.MaxUint64
	if f := r.faults.Load(); f != nil {
		each(f, func(x *Rule, m MemoryFault) {
			if m.Of == of && m.Bytes < bytes {
				bytes, by = m.Bytes, x
			}
		})
	}
	return bytes, by
}
