package device

import (
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
)

// promiseGap is how many submissions others may make on the owner's behalf before
// what the owner has pending is submitted itself.
const promiseGap = 1 << 16

// Next is the point of everything issued so far, submitted or not.
//
// I6: the number of a point that is not submitted yet is promised: whatever is
// submitted on the owner's behalf in the meantime gets a lower one. Otherwise the
// event of such a submission would stand for work that the driver has not seen.
func (s *Stream) Next() Point {
	if s.list.Len() == 0 {
		return Point{s, s.given.Load()}
	}
	if s.promised.Load() == 0 {
		s.promised.Store(s.given.Load() + promiseGap)
	}
	return Point{s, s.promised.Load()}
}

// number is that of a submission that is being made, under mu: the promised one for
// the owner's own list, one more than the last for all others.
func (s *Stream) number(l *cudart.List) uint64 {
	n := s.given.Load() + 1
	if p := s.promised.Load(); p != 0 {
		if l == s.list {
			s.promised.Store(0)
			return p
		}
		if n >= p {
			panic(fmt.Sprintf("device: stream %s: %d submissions on its owner's behalf while the owner had commands pending", s.name, promiseGap))
		}
	}
	return n
}

// Given is the point of everything submitted so far.
func (s *Stream) Given() Point { return Point{s, s.given.Load()} }
