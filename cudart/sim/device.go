package sim

import (
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
)

// device is one simulated GPU. Its memory is its own, whatever context asks.
type device struct {
	info    cudart.DeviceInfo
	memory  *memory
	primary *context // nil while nobody retains it; guarded by simulator.mu
	retains int
}

func newDevice(ordinal int, c Config) *device {
	d := &device{memory: newMemory(ordinal, c.Memory)}
	d.info = cudart.DeviceInfo{
		Ordinal:         ordinal,
		Name:            fmt.Sprintf("simulated GPU %d", ordinal),
		Memory:          c.Memory,
		Major:           9,
		Multiprocessors: 8,
		CopyEngines:     c.CopyEngines,
		MaxGrid:         cudart.Dim3{X: 1<<31 - 1, Y: 65535, Z: 65535},
		MaxBlock:        cudart.Dim3{X: 1024, Y: 1024, Z: 64},
		MaxThreads:      1024,
		MaxShared:       48 << 10,
	}
	copy(d.info.UUID[:], "simulated-gpu")
	d.info.UUID[14], d.info.UUID[15] = byte(ordinal>>8), byte(ordinal)
	if t := c.Topology; t != nil {
		g := &t.GPUs[ordinal]
		d.info.Name, d.info.Multiprocessors, d.info.CopyEngines = "simulated "+g.Name, g.Multiprocessors, g.CopyEngines
		d.info.Memory, d.memory.limit = g.Memory, g.Memory
	}
	return d
}

func (r *simulator) Devices() ([]cudart.DeviceInfo, error) {
	if err := r.refusal("cuDeviceGet", Any); err != nil {
		return nil, err
	}
	infos := make([]cudart.DeviceInfo, len(r.devices))
	for i, d := range r.devices {
		infos[i] = d.info
	}
	return infos, nil
}

func (r *simulator) device(ordinal int, call string) (*device, error) {
	if ordinal < 0 || ordinal >= len(r.devices) {
		return nil, refuse(cudart.ErrInvalidDevice, call, "device %d of %d", ordinal, len(r.devices))
	}
	return r.devices[ordinal], nil
}

// reaches says whether kernels of device may address memory of peer.
func (r *simulator) reaches(device, peer int) bool {
	return device != peer && (r.noPeer == nil || !r.noPeer(device, peer))
}

func (r *simulator) CanAccessPeer(device, peer int) (bool, error) {
	const call = "cuDeviceCanAccessPeer"
	for _, d := range [2]int{device, peer} {
		if _, err := r.device(d, call); err != nil {
			return false, err
		}
	}
	if err := r.refusal(call, device); err != nil {
		return false, err
	}
	return r.lies(device, peer) || r.reaches(device, peer), nil
}

// EnablePeer checks and remembers; it opens memory that was not allocated from a
// pool, and there is none here. Pools are opened by AllowPeer, as in CUDA.
func (r *simulator) EnablePeer(ctx, peer cudart.Context) error {
	const call = "cuCtxEnablePeerAccess"
	c, err := r.enter(ctx, call)
	if err != nil {
		return err
	}
	p := r.contextTable.get(uintptr(peer))
	if p == nil {
		return refuse(cudart.ErrInvalidContext, call, "no context %#x", uintptr(peer))
	}
	if from, to := c.device.info.Ordinal, p.device.info.Ordinal; r.lies(from, to) || !r.reaches(from, to) {
		return refuse(cudart.ErrPeerUnsupported, call, "device %d to device %d", from, to)
	}
	return nil
}

func (r *simulator) MemInfo(ctx cudart.Context) (free, total uint64, err error) {
	c, err := r.enter(ctx, "cuMemGetInfo")
	if err != nil {
		return 0, 0, err
	}
	m := c.device.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.limit - m.reserved, m.limit, nil
}
