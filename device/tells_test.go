package device

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// listening is a runtime that wants to be told.
type listening struct {
	cudart.Runtime
	streams  map[cudart.Stream]string
	commands []string
	accesses []string
}

func (l *listening) NameStream(s cudart.Stream, name string) { l.streams[s] = name }

func (l *listening) NameCommands(s cudart.Stream, names []cudart.CommandName) {
	for _, n := range names {
		at := n.Site[strings.LastIndex(n.Site, "/")+1:]
		at, _, _ = strings.Cut(at, ":")
		l.commands = append(l.commands, fmt.Sprintf("%s %d %s %s", l.streams[s], n.Index, n.Name, at))
	}
}

func (l *listening) HostAccess(p unsafe.Pointer, bytes uint64, write bool) {
	l.accesses = append(l.accesses, fmt.Sprint(bytes, write))
}

// TestTellsNames: a runtime that wants them is told the names of streams, the names
// and sites of commands, and what the CPU does with pinned memory.
func TestTellsNames(t *testing.T) {
	w := &watched{Runtime: openRuntime(t)}
	l := &listening{Runtime: w, streams: map[cudart.Stream]string{}}
	r := newRigOn(t, w, l, 0)
	a, b := r.stream(r.devs[0], "a"), r.stream(r.devs[1], "b")
	far := r.alloc(b, 256)
	x := r.alloc(a, 256)
	y, g := wordsOf(x), r.gate()
	g.hold(a)
	r.fill(a, y, 1)
	r.copy(a, y, y)
	r.flush(a)
	_, err := b.CopyPeer(r.cur, PeerCopy{Dst: far.Ptr(), Src: x.Ptr(), DstDevice: r.devs[1], SrcDevice: r.devs[0], Bytes: 16, After: [2]Point{a.Next()}})
	r.ok(err)
	g.open()
	r.sync(a, b)
	h, err := r.devs[0].AllocHost(100, r.cur)
	r.ok(err)
	h.Accessed(100, true)
	h.Release(Point{})

	const here = "rig_test.go"
	want := []string{"a 0 gate " + here, "a 0 fill32 " + here, "a 1 copy32 " + here, "b 1 peer copy tells_test.go"}
	if !slices.Equal(l.commands, want) {
		t.Errorf("commands are named\n%q\nwant\n%q", l.commands, want)
	}
	if want := []string{"100 true"}; !slices.Equal(l.accesses, want) {
		t.Errorf("the host does %q, want %q", l.accesses, want)
	}
	if names := len(l.streams); names != 4 {
		t.Errorf("%d streams are named, want two and the memory's: %v", names, l.streams)
	}
}
