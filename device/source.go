package device

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gpuactor/gpuactor/cudart"
)

// source is where a device's memory comes from: a driver pool, on a stream of its own
// that never has anything else to do. So new memory is anybody's at once, and no
// stream that launches has to do with the pool: the driver takes 50–90 ns more for
// each record and each wait of one that has allocated (H200, driver 580).
type source struct {
	d      *Device
	pool   cudart.Pool
	stream cudart.Stream

	mu   sync.Mutex
	list *cudart.List
}

// open makes the pool and the stream, with the device's context current.
func (s *source) open(d *Device) (err error) {
	s.d = d
	if s.pool, err = d.rt.CreatePool(d.ctx); err != nil {
		return fmt.Errorf("device: memory pool of %v: %w", d, err)
	}
	if s.stream, err = d.rt.CreateStream(d.ctx); err != nil {
		return fmt.Errorf("device: stream for the memory of %v: %w", d, err)
	}
	d.tells.stream(s.stream, fmt.Sprintf("the memory of device %d", d.index))
	s.list, err = cudart.NewList(0)
	return err
}

// close gives the pool back, with the device's context current, as far as it was made.
func (s *source) close() error {
	var errs []error
	if s.list != nil {
		s.list.Close()
	}
	if s.stream != 0 {
		errs = append(errs, s.d.rt.DestroyStream(s.d.ctx, s.stream))
	}
	if s.pool != 0 {
		errs = append(errs, s.d.rt.DestroyPool(s.d.ctx, s.pool))
	}
	return errors.Join(errs...)
}

// take allocates, and waits until the memory may be used by every stream.
func (s *source) take(bytes uint64) (ptr cudart.DevicePtr, err error) {
	err = s.d.Do(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if ptr, err = s.d.rt.Alloc(s.d.ctx, s.pool, bytes, s.stream); err != nil {
			return err
		}
		return s.d.rt.SynchronizeStream(s.d.ctx, s.stream)
	})
	if err != nil && ptr != 0 { // nobody will hear of it
		return 0, errors.Join(err, s.give(ptr))
	}
	return ptr, err
}

// give frees memory that nothing uses any more; what is taken next may be of it.
func (s *source) give(ptrs ...cudart.DevicePtr) error {
	return s.d.Do(func() error { return s.giveHere(ptrs) })
}

// giveHere is give with the device's context current.
func (s *source) giveHere(ptrs []cudart.DevicePtr) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, p := range ptrs {
		if !s.list.Free(p) {
			errs = append(errs, s.submit())
			s.list.Free(p)
		}
	}
	return errors.Join(append(errs, s.submit())...)
}

func (s *source) submit() error {
	_, err := s.d.rt.Submit(s.d.ctx, s.stream, s.list)
	s.list.Reset()
	if err != nil {
		return fmt.Errorf("device: free memory of %v: %w", s.d, err)
	}
	return nil
}
