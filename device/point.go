package device

import "fmt"

// Point is everything that a stream was given up to a submission. The zero Point
// is nothing, and is complete.
type Point struct {
	s *Stream
	n uint64
}

// Stream is whose point it is, nil for the zero Point.
func (p Point) Stream() *Stream { return p.s }

// Number is the submission that the point stands behind.
func (p Point) Number() uint64 { return p.n }

// String is the stream and the number: "fill#12".
func (p Point) String() string {
	if p.s == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s#%d", p.s.name, p.n)
}

// Known reports whether the point is known complete, without asking the driver.
func (p Point) Known() bool { return p.s == nil || p.n <= p.s.complete.Load() }

// Done asks the driver whether the point is complete. Where no event stands for
// it yet, one is recorded on the stream. Any goroutine may call it; d is the
// device whose context is current on the caller's thread, nil for none.
func (p Point) Done(d *Device) (bool, error) {
	if p.Known() {
		return true, nil
	}
	if p.n > p.s.given.Load() {
		return false, nil // not even submitted
	}
	if err := p.s.cover(p.n, d); err != nil {
		return false, err
	}
	if err := p.s.Poll(); err != nil {
		return false, err
	}
	return p.Known(), nil
}
