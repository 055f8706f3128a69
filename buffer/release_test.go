package buffer

import (
	"errors"
	"strings"
	"testing"
)

// All are released, whatever happens to some, and every error comes back.
func TestReleaseAll(t *testing.T) {
	r := newRig(t, 0)
	u, other := r.user(r.devs[0], "u"), r.user(r.devs[0], "other")
	a, err := New[uint32](u, 4)
	r.ok(err)
	theirs, err := New[uint8](other, 4)
	r.ok(err)
	h, err := NewHost[float64](u, 4)
	r.ok(err)
	err = ReleaseAll(u, a, theirs, Buf[int8]{}, h)
	var e *OwnershipError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), `"other" owns it`) || !strings.Contains(err.Error(), zeroBuffer) {
		t.Errorf("%v", err)
	}
	if a.Valid() || h.Valid() || !theirs.Valid() {
		t.Errorf("left: %v, %v; theirs: %v", a.Valid(), h.Valid(), theirs.Valid())
	}
	r.ok(ReleaseAll(other, theirs))
	r.ok(ReleaseAll(u))
}
