package transfer

import (
	"fmt"
	"sync"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/device"
)

// source is the actor on whose stream the copy is issued.
func source(s *actor.Stream, d *device.Device, opts []Option) (*actor.Ref, error) {
	for _, o := range opts {
		if o.via == nil {
			continue
		}
		if o.via.Device() != d {
			return nil, fmt.Errorf("transfer: %s is an actor of %v, the buffer is on %v", o.via.Name(), o.via.Device(), d)
		}
		return o.via, nil
	}
	return carrierOf(s.System(), d)
}

// carriers are the transfer actors of a system's devices: each device has one,
// started when it is first needed. It does nothing but carry: its stream is free
// for copies while the others compute.
type carriers struct {
	mu  sync.Mutex
	ref []*actor.Ref // by the device's index
}

type carriersKey struct{}

func carrierOf(sys *actor.System, d *device.Device) (*actor.Ref, error) {
	c := sys.Value(carriersKey{}, func() any { return &carriers{ref: make([]*actor.Ref, len(sys.Devices()))} }).(*carriers)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.ref[d.Index()]; r != nil {
		return r, nil
	}
	r, err := sys.Go(fmt.Sprintf("transfer-%d", d.Index()), d, func(s *actor.Stream) error {
		s.Rest()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("transfer: actor of %v: %w", d, err)
	}
	c.ref[d.Index()] = r
	return r, nil
}
