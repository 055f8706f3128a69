package device

import (
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
)

// LaunchError is a launch that was not made, and why: the program's mistake, found
// before anything was issued.
type LaunchError struct {
	Kernel string // its name
	Param  int    // its position, from 0; -1 where it is about the launch as a whole
	Text   string // what is wrong
}

// Error says which kernel and parameter it is about, and what is wrong.
func (e *LaunchError) Error() string {
	if e.Param < 0 {
		return fmt.Sprintf("device: kernel %s: %s", e.Kernel, e.Text)
	}
	return fmt.Sprintf("device: kernel %s: parameter %d: %s", e.Kernel, e.Param, e.Text)
}

// Launch issues a launch of k for an owner. Every argument is checked first: its
// count, its kind, and by [Memory.Use] whether the owner may use it so. What is wrong
// is a [*LaunchError], or the memory's own error with the kernel and parameter around
// it; a [*SubmitError] is about commands issued earlier, or where the stream had
// nothing to do, about this one. It belongs to the stream's owner.
func (s *Stream) Launch(owner uint32, k *Kernel, g Grid, args ...Arg) error {
	fn, err := s.d.function(k)
	if err != nil {
		return err
	}
	if len(args) != len(k.params) {
		return &LaunchError{k.name, -1, fmt.Sprintf("%d arguments, it takes %d", len(args), len(k.params))}
	}
	if t := gridFault(g, &s.d.info, fn.info); t != "" {
		return &LaunchError{k.name, -1, t}
	}
	raw := s.scratch(len(args))
	for i := range args {
		if err := s.resolve(owner, k, i, &args[i], &raw[i]); err != nil {
			return err
		}
	}
	by := s.launchBy(k.id, fn, len(args))
	launch := func() bool { return s.list.LaunchBy(by, fn.f, g.Blocks, g.Threads, g.Shared, raw...) }
	if err := s.fit(launch); err != nil {
		return err
	}
	noted := false
	for i := range args {
		if args[i].access.Writes() {
			s.note(k.name, args[i].mem, args[i].gen)
			noted = true
		}
	}
	if !noted {
		s.note(k.name, nil, 0)
	}
	return s.issued(cudart.OpLaunch, k.name)
}

// fits reports whether an argument may be given for a parameter: what is given must
// not promise more than the kernel does. A kernel that overwrites all that it is
// told to may be told of a part (InOut for Out); one that writes in part does not
// overwrite a buffer (Out for InOut).
func fits(declared, given cudart.Access) bool {
	return declared == given || declared == cudart.Out && given == cudart.InOut
}

// scratch is room for n arguments, the owner's, to be written in full.
func (s *Stream) scratch(n int) []cudart.Arg {
	if n > len(s.args) {
		s.args = make([]cudart.Arg, max(n, 16))
	}
	return s.args[:n]
}

func (s *Stream) resolve(owner uint32, k *Kernel, i int, a *Arg, raw *cudart.Arg) error {
	p := &k.params[i]
	if !fits(p.access, a.access) || a.mem == nil && a.elem != p.elem {
		return &LaunchError{k.name, i, fmt.Sprintf("declared %v, given %s", p, a.describe(owner))}
	}
	if a.mem == nil {
		*raw = cudart.Arg{Slot: a.slot}
		return nil
	}
	ptr, bytes, elem, err := a.mem.Use(owner, a.gen, a.access)
	if err != nil {
		return fmt.Errorf("device: kernel %s: parameter %d: %w", k.name, i, err)
	}
	if elem != p.elem {
		return &LaunchError{k.name, i, fmt.Sprintf("declared %v, given memory of %v", p, elem)}
	}
	*raw = cudart.Arg{Slot: uint64(ptr), Bytes: bytes, Access: a.access}
	return nil
}
