package buffer

import "errors"

// Releaser is what its owner can release: a [Buf] or a [Host].
type Releaser interface {
	// Release ends the use of it by u, which owns it.
	Release(u User) error
}

// ReleaseAll releases buffers that u owns, of any types, in the order given:
//
//	defer func() { err = errors.Join(err, buffer.ReleaseAll(s, a, b, staging)) }()
//
// It goes on after an error, and returns all of them joined. What u does not own any
// more, because it was sent, say, is an [*OwnershipError] here too. Putting the
// buffers into the list may allocate, where calling Release of each does not.
func ReleaseAll(u User, hs ...Releaser) error {
	var errs []error
	for _, h := range hs {
		if err := h.Release(u); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
