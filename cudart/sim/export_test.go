package sim

import "github.com/gpuactor/gpuactor/cudart"

// Peek is a copy of device memory as it is now, without a step.
func Peek(rt cudart.Runtime, p cudart.DevicePtr, bytes uint64) []byte {
	m, _ := rt.(*simulator).memoryOf(uint64(p))
	at, b, _ := m.pin(uint64(p), bytes)
	defer at.release()
	return append([]byte(nil), b...)
}

// Walk is a walk at random among the orders that an exploration takes.
func Walk(seed uint64) Clock {
	x := Chaos(seed)
	x.halves = true
	return x
}
