package device

import "github.com/gpuactor/gpuactor/cudart"

// tells is what a runtime wants to be told beyond what it is asked to do, as a checker
// does; nil where it does not.
type tells struct {
	namer   cudart.Namer
	watcher cudart.HostWatcher
}

func tellsOf(rt cudart.Runtime) (t tells) {
	t.namer, _ = rt.(cudart.Namer)
	t.watcher, _ = rt.(cudart.HostWatcher)
	return t
}

func (t tells) stream(h cudart.Stream, name string) {
	if t.namer != nil {
		t.namer.NameStream(h, name)
	}
}

// command names one command of the list that is submitted next to h, whose stream is
// locked.
func (t tells) command(h cudart.Stream, index int, name string) {
	if t.namer != nil {
		t.namer.NameCommands(h, []cudart.CommandName{{Index: index, Name: name, Site: Site()}})
	}
}

// nameEffects names the commands of the owner's list, which is submitted next, under mu.
func (s *Stream) nameEffects() {
	s.names = s.names[:0]
	for i, e := range s.effects {
		if i == 0 || e.index != s.effects[i-1].index {
			s.names = append(s.names, cudart.CommandName{Index: e.index, Name: e.op, Site: e.site})
		}
	}
	s.d.tells.namer.NameCommands(s.h, s.names)
}
