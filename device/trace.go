package device

import "github.com/gpuactor/gpuactor/cudart"

// Trace is told what streams are given, as it is issued, on the thread that
// issues it. It must be quick, and must not call back into the stream.
type Trace interface {
	// Command: s was given an effect (a launch, a copy, a fill) that will be
	// part of its submission n. name is the kernel's, or the kind of copy.
	Command(s *Stream, n uint64, op cudart.Op, name string)
	// Wait: s was given a wait for p, because of why; what s is given from
	// submission n on comes after it.
	Wait(s *Stream, n uint64, p Point, why string)
}
