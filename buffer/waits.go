package buffer

import "fmt"

// Waits says what an owner waits for in Await, for people. Nobody runs as the owner
// meanwhile.
func (o *Owner) Waits() string {
	switch w := o.wants; {
	case w.point.Stream() != nil:
		return fmt.Sprintf("point %v", w.point)
	case w.bytes > 0:
		return fmt.Sprintf("%d bytes of the memory of %v", w.bytes, o.Stream.Device())
	}
	return "something that the GPU does"
}
