//go:build linux && (amd64 || arm64)

package nvidia

import (
	"bytes"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// Attributes of a device, by the numbers of the driver API.
const (
	attrMaxThreadsPerBlock = 1
	attrMaxBlockX          = 2
	attrMaxBlockY          = 3
	attrMaxBlockZ          = 4
	attrMaxGridX           = 5
	attrMaxGridY           = 6
	attrMaxGridZ           = 7
	attrMaxShared          = 8
	attrMultiprocessors    = 16
	attrCopyEngines        = 40
	attrMajor              = 75
	attrMinor              = 76
)

func (d *driver) Devices() ([]cudart.DeviceInfo, error) {
	infos := make([]cudart.DeviceInfo, d.devices)
	for i := range infos {
		var err error
		if infos[i], err = d.deviceInfo(i); err != nil {
			return nil, err
		}
	}
	return infos, nil
}

func (d *driver) deviceInfo(ordinal int) (info cudart.DeviceInfo, err error) {
	dev, err := d.device(ordinal)
	if err != nil {
		return info, err
	}
	info.Ordinal = ordinal
	var name [256]byte
	if err := d.do(cuDeviceGetName, uintptr(unsafe.Pointer(&name)), uintptr(len(name)), dev); err != nil {
		return info, err
	}
	n, _, _ := bytes.Cut(name[:], []byte{0})
	info.Name = string(n)
	var uuid [16]byte
	if err := d.do(cuDeviceGetUuid, uintptr(unsafe.Pointer(&uuid)), dev); err != nil {
		return info, err
	}
	info.UUID = uuid
	var memory uint64
	if err := d.do(cuDeviceTotalMem, uintptr(unsafe.Pointer(&memory)), dev); err != nil {
		return info, err
	}
	info.Memory = memory
	return info, d.attributes(dev, &info)
}

func (d *driver) attributes(dev uintptr, info *cudart.DeviceInfo) error {
	for attr, set := range map[uintptr]func(v int32){
		attrMaxThreadsPerBlock: func(v int32) { info.MaxThreads = int(v) },
		attrMaxBlockX:          func(v int32) { info.MaxBlock.X = uint32(v) },
		attrMaxBlockY:          func(v int32) { info.MaxBlock.Y = uint32(v) },
		attrMaxBlockZ:          func(v int32) { info.MaxBlock.Z = uint32(v) },
		attrMaxGridX:           func(v int32) { info.MaxGrid.X = uint32(v) },
		attrMaxGridY:           func(v int32) { info.MaxGrid.Y = uint32(v) },
		attrMaxGridZ:           func(v int32) { info.MaxGrid.Z = uint32(v) },
		attrMaxShared:          func(v int32) { info.MaxShared = uint32(v) },
		attrMultiprocessors:    func(v int32) { info.Multiprocessors = int(v) },
		attrCopyEngines:        func(v int32) { info.CopyEngines = int(v) },
		attrMajor:              func(v int32) { info.Major = int(v) },
		attrMinor:              func(v int32) { info.Minor = int(v) },
	} {
		var v int32
		if err := d.do(cuDeviceGetAttribute, uintptr(unsafe.Pointer(&v)), attr, dev); err != nil {
			return err
		}
		set(v)
	}
	return nil
}

// device is the driver's handle of a device; it refuses ordinals out of range.
func (d *driver) device(ordinal int) (uintptr, error) {
	var dev int32
	err := d.do(cuDeviceGet, uintptr(unsafe.Pointer(&dev)), uintptr(ordinal))
	return uintptr(dev), err
}

func (d *driver) CanAccessPeer(device, peer int) (bool, error) {
	dev, err := d.device(device)
	if err != nil {
		return false, err
	}
	other, err := d.device(peer)
	if err != nil || dev == other {
		return false, err
	}
	var can int32
	err = d.do(cuDeviceCanAccessPeer, uintptr(unsafe.Pointer(&can)), dev, other)
	return can != 0, err
}
