//go:build linux && (amd64 || arm64)

package nvidia

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

const stream cudart.Stream = 0x57

// host stands for pinned memory.
var host [8]byte

// everyCommand is a list with one command of each kind, whose arguments all differ.
func everyCommand(l *cudart.List) {
	l.Launch(0xf003, cudart.Dim3{X: 1, Y: 2, Z: 3}, cudart.Dim3{X: 4, Y: 5, Z: 6}, 7,
		cudart.Arg{Slot: 0xa0}, cudart.Arg{Slot: 0xffffffff00000000, Bytes: 9, Access: cudart.In}, cudart.Arg{Slot: 0xa2, Bytes: 9, Access: cudart.Out})
	l.Launch(0xf000, cudart.Dim3{X: 0xffffffff, Y: 1, Z: 1}, cudart.Dim3{X: 1, Y: 1, Z: 0xfffffffe}, 0)
	l.CopyHtoD(0x1_0000_0001, unsafe.Pointer(&host[2]), 5<<30)
	l.CopyDtoH(unsafe.Pointer(&host[3]), 0x4, 6)
	l.CopyDtoD(0x5, 0x6, 7)
	l.CopyPeer(0x7, 0x8, 0x9, 0xa, 0xb)
	l.Fill(0xc, 0xdddddddd, 1, 0xe)
	l.Fill(0xc, 0xdddddddd, 2, 0xe)
	l.Fill(0xc, 0xdddddddd, 4, 0xe)
	l.Record(0xf)
	l.Wait(0x10)
	l.Free(0x11)
}

var everyCall = []string{
	"LaunchKernel f003 1 2 3 4 5 6 7 57 0 a0 ffffffff00000000 a2",
	"LaunchKernel f000 ffffffff 1 1 1 1 fffffffe 0 57 0",
	fmt.Sprintf("MemcpyHtoDAsync 100000001 %x 140000000 57", uintptr(unsafe.Pointer(&host[2]))),
	fmt.Sprintf("MemcpyDtoHAsync %x 4 6 57", uintptr(unsafe.Pointer(&host[3]))),
	"MemcpyDtoDAsync 5 6 7 57",
	"MemcpyPeerAsync 7 8 9 a b 57",
	"MemsetD8Async c dd e 57",
	"MemsetD16Async c dddd e 57",
	"MemsetD32Async c dddddddd e 57",
	"EventRecord f 57",
	"StreamWaitEvent 57 10 0",
	"MemFreeAsync 11 57",
}

func TestSubmitCallsTheDriver(t *testing.T) {
	f, l := openFake(t), newList(t)
	everyCommand(l)
	if refused, err := f.Submit(0, stream, l); refused != -1 || err != nil {
		t.Fatalf("Submit: %d, %v", refused, err)
	}
	if got := f.calls(); !slices.Equal(got, everyCall) {
		t.Errorf("called\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(everyCall, "\n"))
	}
}

// F2b, for each command of the list: effects behind it are left out, and
// bookkeeping is not.
func TestSubmitBehindARefusedCommand(t *testing.T) {
	f, l := openFake(t), newList(t)
	everyCommand(l)
	for i, call := range everyCall {
		name, _, _ := strings.Cut(call, " ")
		nth := uint64(1)
		if i == 1 {
			nth = 2
		}
		var want []string
		for j, c := range everyCall {
			if j <= i || j >= 9 {
				want = append(want, c)
			}
		}
		f.reset()
		f.refuse("cu"+name, nth, 2)
		refused, err := f.Submit(0, stream, l)
		var e *cudart.Error
		if refused != i || !errors.Is(err, cudart.ErrOutOfMemory) || !errors.As(err, &e) {
			t.Fatalf("%s refused: %d, %v, want %d", name, refused, err, i)
		}
		if e.Call != "cu"+name || e.Name != "CUDA_ERROR_OUT_OF_MEMORY" || !strings.Contains(e.Text, "out of memory") {
			t.Errorf("%s refused: %#v", name, e)
		}
		if got := f.calls(); !slices.Equal(got, want) {
			t.Errorf("%s refused: called\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestSubmitReportsTheFirstRefusal(t *testing.T) {
	f, l := openFake(t), newList(t)
	everyCommand(l)
	f.refuse("cuMemcpyDtoDAsync", 1, 1)
	f.refuse("cuEventRecord", 1, 400)
	f.refuse("cuMemFreeAsync", 1, 719)
	if refused, err := f.Submit(0, stream, l); refused != 4 || !errors.Is(err, cudart.ErrInvalidValue) {
		t.Errorf("Submit: %d, %v, want 4 and ErrInvalidValue", refused, err)
	}
	if n := f.count(); n != 8 {
		t.Errorf("%d calls, want 5, then 3 of bookkeeping", n)
	}
}

func TestSubmitOfNothing(t *testing.T) {
	f, l := openFake(t), newList(t)
	if refused, err := f.Submit(0, stream, l); refused != -1 || err != nil {
		t.Errorf("an empty list: %d, %v", refused, err)
	}
	l.CopyHtoD(0, nil, 0)
	l.CopyDtoH(nil, 0, 0)
	l.CopyDtoD(0, 0, 0)
	l.CopyPeer(0, 1, 0, 2, 0)
	l.Fill(0, 0, 4, 0)
	if refused, err := f.Submit(0, stream, l); refused != -1 || err != nil || f.count() != 0 {
		t.Errorf("copies of nothing: %d, %v, calls %v", refused, err, f.calls())
	}
}

func TestSubmitRefusesTheDefaultStreamAndOddWidths(t *testing.T) {
	f, l := openFake(t), newList(t)
	l.Fill(0xc, 1, 3, 5)
	if refused, err := f.Submit(0, stream, l); refused != 0 || !errors.Is(err, cudart.ErrInvalidValue) {
		t.Errorf("width 3: %d, %v", refused, err)
	}
	l.Reset()
	l.Record(0xf)
	if refused, err := f.Submit(0, 0, l); refused != 0 || !errors.Is(err, cudart.ErrInvalidHandle) {
		t.Errorf("stream 0: %d, %v", refused, err)
	}
	if f.count() != 0 {
		t.Errorf("called %v", f.calls())
	}
}

func TestHotPathAllocatesNothing(t *testing.T) {
	f, l := openFake(t), newList(t)
	everyCommand(l)
	ctx := f.context(t)
	for name, run := range map[string]func(){
		"Submit":     func() { _, _ = f.Submit(ctx, stream, l) },
		"QueryEvent": func() { _, _ = f.QueryEvent(0xe) },
		"SetCurrent": func() { _ = f.SetCurrent(ctx) },
	} {
		if n := testing.AllocsPerRun(200, run); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// A launch by a graph is two calls; where either is refused, the kernel is launched as
// ever, and what that is refused for is the error.
func TestLaunchByGraph(t *testing.T) {
	f, l := openFake(t), newList(t)
	g := cudart.LaunchGraph{Exec: 0x77, Node: 0x88}
	launch := func() {
		l.Reset()
		l.LaunchBy(g, 0xf003, cudart.Dim3{X: 1, Y: 2, Z: 3}, cudart.Dim3{X: 4, Y: 5, Z: 6}, 7,
			cudart.Arg{Slot: 0xa0}, cudart.Arg{Slot: 0xffffffff00000000, Bytes: 9, Access: cudart.In}, cudart.Arg{Slot: 0xa2})
		l.Record(0xf)
	}
	const (
		set    = "GraphExecKernelNodeSetParams 77 88 f003 1 2 3 4 5 6 7 0 a0 ffffffff00000000 a2"
		run    = "GraphLaunch 77 57"
		plain  = "LaunchKernel f003 1 2 3 4 5 6 7 57 0 a0 ffffffff00000000 a2"
		record = "EventRecord f 57"
	)
	for _, c := range []struct {
		name   string
		refuse []string
		want   []string
		fails  bool
	}{
		{"both calls", nil, []string{set, run, record}, false},
		{"the arguments refused", []string{"cuGraphExecKernelNodeSetParams"}, []string{set, plain, record}, false},
		{"the launch refused", []string{"cuGraphLaunch"}, []string{set, run, plain, record}, false},
		{"all refused", []string{"cuGraphLaunch", "cuLaunchKernel"}, []string{set, run, plain, record}, true},
	} {
		f.reset()
		for _, name := range c.refuse {
			f.refuse(name, 1, 701)
		}
		launch()
		refused, err := f.Submit(0, stream, l)
		if c.fails != (err != nil) || c.fails != (refused == 0) || c.fails && !errors.Is(err, cudart.ErrLaunchResources) {
			t.Errorf("%s: %d, %v", c.name, refused, err)
		}
		if got := f.calls(); !slices.Equal(got, c.want) {
			t.Errorf("%s: called\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
	launch()
	if n := testing.AllocsPerRun(200, func() { _, _ = f.Submit(0, stream, l) }); n != 0 {
		t.Errorf("allocates %v times", n)
	}
}

func TestInstantiateLaunch(t *testing.T) {
	f := openFake(t)
	ctx := f.context(t)
	g, err := f.InstantiateLaunch(ctx, 0xf002, 2)
	if err != nil || g.Node != g.Graph+1 || g.Exec != g.Graph+2 {
		t.Fatalf("InstantiateLaunch: %+v, %v", g, err)
	}
	if err := f.DestroyLaunch(ctx, g); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"GraphCreate 0",
		fmt.Sprintf("GraphAddKernelNode %x 0 0 f002 1 1 1 1 1 1 0 0 0 0", g.Graph),
		fmt.Sprintf("GraphInstantiateWithFlags %x 0", g.Graph),
		fmt.Sprintf("GraphExecDestroy %x", g.Exec),
		fmt.Sprintf("GraphDestroy %x", g.Graph),
	}
	if got := f.calls(); !slices.Equal(got, want) {
		t.Errorf("called\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, refused := range []string{"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags"} {
		f.reset()
		f.refuse(refused, 1, 2)
		if g, err := f.InstantiateLaunch(ctx, 0xf000, 0); g != (cudart.LaunchGraph{}) || !errors.Is(err, cudart.ErrOutOfMemory) {
			t.Errorf("%s refused: %+v, %v", refused, g, err)
		}
		calls := f.calls()
		if destroyed := strings.HasPrefix(calls[len(calls)-1], "GraphDestroy"); destroyed != (refused != "cuGraphCreate") {
			t.Errorf("%s refused: called %q", refused, calls)
		}
	}
}

func BenchmarkCrossing(b *testing.B) {
	f, l := openFake(b), newList(b)
	l.Wait(0xf)
	l.Launch(0xf001, cudart.Dim3{X: 1, Y: 1, Z: 1}, cudart.Dim3{X: 1, Y: 1, Z: 1}, 0, cudart.Arg{Slot: 1})
	l.Record(0xf)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Submit(0, stream, l); err != nil {
			b.Fatal(err)
		}
	}
}
