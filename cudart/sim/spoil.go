package sim

import "github.com/gpuactor/gpuactor/cudart"

// allocated is an allocation as a command of its stream. Nothing has to be done but
// under [Steps]: there the memory is spoilt when the stream comes to it, so that what
// others wrote into it before is gone.
func (s *stream) allocated(p cudart.DevicePtr, bytes uint64) {
	_, spoils := s.sim.exec.(*Steps)
	if s.member == nil && !spoils {
		return
	}
	s.mu.Lock()
	s.comeBehind()
	if spoils {
		l := spoiling(p, junkOf(bytes))
		s.push(item{op: cudart.OpFill, spoils: true}, l.Words())
		l.Close()
	}
	s.announce()
	start := s.start()
	s.mu.Unlock()
	if start {
		s.sim.exec.ready(s)
	}
}

// spoiling is a list with a fill of memory with junk.
func spoiling(p cudart.DevicePtr, bytes uint64) *cudart.List {
	l, err := cudart.NewList(0)
	if err != nil {
		panic(err)
	}
	l.Fill(p, uint32(junkFull[0]), 1, bytes)
	return l
}
