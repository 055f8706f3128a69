package cudarttest

import (
	"reflect"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

// heard is a runtime that only notes what is submitted, and refuses one command.
type heard struct {
	cudart.Runtime
	commands []cudart.Command
	refuse   int
}

func (h *heard) Submit(_ cudart.Context, _ cudart.Stream, l *cudart.List) (int, error) {
	h.commands = decoded(l)
	if h.refuse >= 0 {
		return h.refuse, cudart.ErrInvalidValue
	}
	return -1, nil
}

// decoded lists the commands with what they mean, and not where they lie.
func decoded(l *cudart.List) (all []cudart.Command) {
	words := append([]uint64(nil), l.Words()...)
	for len(words) > 0 {
		var c cudart.Command
		c, words = cudart.Decode(words)
		all = append(all, c)
	}
	return all
}

// everything is a list with a command of each kind.
func everything(t *testing.T) *cudart.List {
	l, err := cudart.NewList(4096)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	one := cudart.Dim3{X: 1, Y: 1, Z: 1}
	l.Launch(7, cudart.Dim3{X: 2, Y: 3, Z: 4}, one, 16,
		cudart.Arg{Slot: 0x1000, Bytes: 40, Access: cudart.InOut}, cudart.Arg{Slot: 9})
	l.CopyHtoD(1, hostPointer(2), 3)
	l.CopyDtoH(hostPointer(4), 5, 6)
	l.CopyDtoD(7, 8, 9)
	l.CopyPeer(10, 11, 12, 13, 14)
	l.Fill(15, 0xabcd, 2, 16)
	l.Wait(17)
	l.Free(18)
	l.Record(19)
	return l
}

func TestWithout(t *testing.T) {
	all := decoded(everything(t))
	for _, c := range []struct {
		name string
		drop func(cudart.Command) bool
		want []int // places in the list
	}{
		{"nothing", func(cudart.Command) bool { return false }, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
		{"waits", func(c cudart.Command) bool { return c.Op == cudart.OpWait }, []int{0, 1, 2, 3, 4, 5, 7, 8}},
		{"effects", func(c cudart.Command) bool { return c.Op.Effect() }, []int{6, 7, 8}},
		{"everything", func(cudart.Command) bool { return true }, nil},
	} {
		h := &heard{refuse: -1}
		if refused, err := Without(h, c.drop).Submit(0, 0, everything(t)); refused != -1 || err != nil {
			t.Errorf("without %s: refused %d, %v", c.name, refused, err)
		}
		var want []cudart.Command
		for _, i := range c.want {
			want = append(want, all[i])
		}
		if len(h.commands) != len(want) {
			t.Fatalf("without %s: %d commands, want %d", c.name, len(h.commands), len(want))
		}
		for i := range want {
			if !same(&h.commands[i], &want[i]) {
				t.Errorf("without %s: command %d is %+v, want %+v", c.name, i, h.commands[i], want[i])
			}
		}
	}
}

// same compares what two commands mean.
func same(a, b *cudart.Command) bool {
	if a.Args() != b.Args() {
		return false
	}
	for i := range a.Args() {
		if a.Arg(i) != b.Arg(i) {
			return false
		}
	}
	x, y := cudart.Command{}, cudart.Command{}
	for _, p := range [][2]*cudart.Command{{&x, a}, {&y, b}} {
		*p[0] = cudart.Command{
			Op: p[1].Op, Function: p[1].Function, Grid: p[1].Grid, Block: p[1].Block, Shared: p[1].Shared,
			Dst: p[1].Dst, Src: p[1].Src, Bytes: p[1].Bytes, DstCtx: p[1].DstCtx, SrcCtx: p[1].SrcCtx,
			Pattern: p[1].Pattern, Width: p[1].Width, Event: p[1].Event,
		}
	}
	return reflect.DeepEqual(x, y)
}

// A refusal is told by the place in the caller's list, not in what was left of it.
func TestWithoutRefusal(t *testing.T) {
	h := &heard{refuse: 3}
	dropCopies := func(c cudart.Command) bool { return c.Op == cudart.OpCopyHtoD || c.Op == cudart.OpCopyDtoH }
	refused, err := Without(h, dropCopies).Submit(0, 0, everything(t))
	if refused != 5 || err == nil {
		t.Errorf("refused %d, %v; want the fill, which is command 5", refused, err)
	}
}

func TestCounting(t *testing.T) {
	n := Counting(&heard{refuse: -1})
	for range 2 {
		if _, err := n.Submit(0, 0, everything(t)); err != nil {
			t.Fatal(err)
		}
	}
	if n.Calls() != 2 {
		t.Errorf("%d calls, want 2", n.Calls())
	}
	for op := cudart.OpLaunch; op <= cudart.OpFree; op++ {
		if got := n.Commands(op); got != 2 {
			t.Errorf("%d of %v, want 2", got, op)
		}
	}
}

// A method that the counter forgets would be a driver call that no test sees.
func TestCountingForgetsNothing(t *testing.T) {
	told := map[string]bool{"Name": true, "DriverVersion": true, "Devices": true, "Now": true, "CanAccessPeer": true, "Close": true}
	seam := reflect.TypeFor[cudart.Runtime]()
	for m := range seam.Methods() {
		if told[m.Name] {
			continue
		}
		n := Counting(nil)
		func() {
			defer func() { _ = recover() }() // there is no runtime behind it
			f := reflect.ValueOf(n).MethodByName(m.Name)
			args := make([]reflect.Value, f.Type().NumIn())
			for i := range args {
				args[i] = reflect.Zero(f.Type().In(i))
			}
			f.Call(args)
		}()
		if n.Calls() != 1 {
			t.Errorf("%s is not counted", m.Name)
		}
	}
}
