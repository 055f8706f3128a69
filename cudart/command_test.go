package cudart

import (
	"encoding/binary"
	"reflect"
	"testing"
	"unsafe"
)

func newList(t testing.TB, bytes int) *List {
	t.Helper()
	l, err := NewList(bytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// decoded is a command with its arguments read out, so that two compare.
type decoded struct {
	Command
	Arguments []Arg
}

func decodeAll(words []uint64) (all []decoded) {
	for len(words) > 0 {
		var c Command
		c, words = Decode(words)
		d := decoded{Command: c}
		for i := range c.Args() {
			d.Arguments = append(d.Arguments, c.Arg(i))
		}
		d.slots, d.desc = nil, nil
		all = append(all, d)
	}
	return all
}

// source makes commands out of bytes, zeros when they have run out.
type source struct{ data []byte }

func (s *source) u8() uint8 {
	if len(s.data) == 0 {
		return 0
	}
	v := s.data[0]
	s.data = s.data[1:]
	return v
}

func (s *source) u64() uint64 {
	var b [8]byte
	n := copy(b[:], s.data)
	s.data = s.data[n:]
	return binary.LittleEndian.Uint64(b[:])
}

func (s *source) u32() uint32 { return uint32(s.u64()) }

func (s *source) dim() Dim3 { return Dim3{s.u32(), s.u32(), s.u32()} }

func (s *source) args(n int) (args []Arg) {
	for range n {
		args = append(args, Arg{Slot: s.u64(), Bytes: s.u64() & bytesMask, Access: Access(s.u8() & 3)})
	}
	return args
}

// append appends a command and returns what it should decode to.
func (s *source) append(l *List) (want decoded, room bool) {
	want.Op = Op(s.u8())%OpFree + 1
	switch want.Op {
	case OpLaunch:
		want.Function, want.Grid, want.Block, want.Shared = Function(s.u32()), s.dim(), s.dim(), s.u32()
		want.Arguments = s.args(int(s.u8()) % (MaxArgs + 1))
		want.By = LaunchGraph{Exec: uintptr(s.u32()), Node: uintptr(s.u32())}
		room = l.LaunchBy(want.By, want.Function, want.Grid, want.Block, want.Shared, want.Arguments...)
	case OpCopyHtoD:
		want.Dst, want.Src, want.Bytes = s.u64(), 0, s.u64()
		room = l.CopyHtoD(DevicePtr(want.Dst), nil, want.Bytes)
	case OpCopyDtoH:
		want.Dst, want.Src, want.Bytes = 0, s.u64(), s.u64()
		room = l.CopyDtoH(nil, DevicePtr(want.Src), want.Bytes)
	case OpCopyDtoD:
		want.Dst, want.Src, want.Bytes = s.u64(), s.u64(), s.u64()
		room = l.CopyDtoD(DevicePtr(want.Dst), DevicePtr(want.Src), want.Bytes)
	case OpCopyPeer:
		want.Dst, want.Src, want.Bytes = s.u64(), s.u64(), s.u64()
		want.DstCtx, want.SrcCtx = Context(s.u32()), Context(s.u32())
		room = l.CopyPeer(DevicePtr(want.Dst), want.DstCtx, DevicePtr(want.Src), want.SrcCtx, want.Bytes)
	case OpFill:
		want.Dst, want.Pattern, want.Width = s.u64(), s.u32(), 1<<(s.u8()%3)
		count := s.u64()
		want.Bytes = count * uint64(want.Width)
		room = l.Fill(DevicePtr(want.Dst), want.Pattern, want.Width, count)
	case OpRecord:
		want.Event = Event(s.u32())
		room = l.Record(want.Event)
	case OpWait:
		want.Event = Event(s.u32())
		room = l.Wait(want.Event)
	case OpFree:
		want.Dst = s.u64()
		room = l.Free(DevicePtr(want.Dst))
	}
	return want, room
}

func FuzzCommands(f *testing.F) {
	every := []byte{}
	for op := range byte(OpFree) {
		every = append(every, op)
		for i := range byte(100) {
			every = append(every, i*7+op)
		}
	}
	f.Add([]byte{})
	f.Add(every)
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, data []byte) {
		l := newList(t, 1<<14)
		s := &source{data}
		var want []decoded
		for len(s.data) > 0 {
			before := append([]uint64(nil), l.Words()...)
			c, room := s.append(l)
			if room {
				want = append(want, c)
			} else if !reflect.DeepEqual(before, append([]uint64(nil), l.Words()...)) {
				t.Fatal("a command without room changed the list")
			}
		}
		if l.Len() != len(want) {
			t.Fatalf("%d commands, want %d", l.Len(), len(want))
		}
		if got := decodeAll(l.Words()); !reflect.DeepEqual(got, want) {
			t.Fatalf("decoded\n%+v, want\n%+v", got, want)
		}
	})
}

func TestHostAddressesAreEncoded(t *testing.T) {
	l := newList(t, 0)
	p := unsafe.Pointer(&l.words[0])
	l.CopyHtoD(1, p, 2)
	l.CopyDtoH(p, 1, 2)
	all := decodeAll(l.Words())
	if all[0].Src != uint64(uintptr(p)) || all[1].Dst != uint64(uintptr(p)) {
		t.Errorf("%+v does not hold %p", all, p)
	}
}

// The driver takes the addresses of a launch's slots, which lie in the list.
func TestLaunchPointsAtItsSlots(t *testing.T) {
	l := newList(t, 0)
	l.Record(1)
	l.Launch(7, Dim3{1, 1, 1}, Dim3{1, 1, 1}, 0, Arg{Slot: 10}, Arg{Slot: 11, Bytes: 4, Access: In}, Arg{Slot: 12})
	launch := l.Words()[oneWords:]
	for i := range 3 {
		slot := launch[launchHead+i]
		address := launch[launchHead+3+i]
		if slot != uint64(10+i) || address != uint64(uintptr(unsafe.Pointer(&launch[launchHead+i]))) {
			t.Errorf("argument %d is %d, its address %#x", i, slot, address)
		}
	}
}

// fillUp appends what add adds until there is no room.
func fillUp(l *List, add func() bool) (n int) {
	for add() {
		n++
	}
	return n
}

func TestFullList(t *testing.T) {
	adds := map[string]func(l *List) bool{
		"launch":    func(l *List) bool { return l.Launch(1, Dim3{}, Dim3{}, 0, make([]Arg, MaxArgs)...) },
		"to device": func(l *List) bool { return l.CopyHtoD(1, nil, 1) },
		"to host":   func(l *List) bool { return l.CopyDtoH(nil, 1, 1) },
		"on device": func(l *List) bool { return l.CopyDtoD(1, 2, 1) },
		"peer":      func(l *List) bool { return l.CopyPeer(1, 1, 2, 2, 1) },
		"fill":      func(l *List) bool { return l.Fill(1, 0, 1, 1) },
		"wait":      func(l *List) bool { return l.Wait(1) },
		"free":      func(l *List) bool { return l.Free(1) },
	}
	for name, add := range adds {
		t.Run(name, func(t *testing.T) {
			l := newList(t, 0)
			n := fillUp(l, func() bool { return add(l) })
			if n == 0 || l.Len() != n || len(decodeAll(l.Words())) != n {
				t.Fatalf("%d added, Len %d, %d decoded", n, l.Len(), len(decodeAll(l.Words())))
			}
			// Once nothing fits, a record does: whoever waits must hear of it.
			fillUp(l, func() bool { return l.Free(1) })
			if !l.Record(2) {
				t.Error("no room for a record")
			}
			l.Reset()
			if l.Len() != 0 || len(l.Words()) != 0 {
				t.Error("Reset left something")
			}
			if again := fillUp(l, func() bool { return add(l) }); again != n {
				t.Errorf("%d fit after Reset, %d before", again, n)
			}
		})
	}
}

// However small a list is, one launch fits.
func TestSmallestList(t *testing.T) {
	for _, bytes := range []int{-1, 0, 1, 100} {
		l := newList(t, bytes)
		if !l.Launch(1, Dim3{}, Dim3{}, 0, make([]Arg, MaxArgs)...) {
			t.Errorf("no room for a launch in a list of %d bytes", bytes)
		}
	}
}

func TestClosedList(t *testing.T) {
	l := newList(t, 0)
	l.Record(1)
	l.Close()
	if l.Len() != 0 || l.Record(1) || l.Free(1) || len(l.Words()) != 0 {
		t.Error("a closed list holds something")
	}
	l.Close()
}

func TestTooManyArguments(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	newList(t, 0).Launch(1, Dim3{}, Dim3{}, 0, make([]Arg, MaxArgs+1)...)
}

func TestDecodeRefusesGarbage(t *testing.T) {
	for _, op := range []Op{0, OpFree + 1, 0xffff} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("op %d was decoded", op)
				}
			}()
			Decode([]uint64{uint64(op) | 2<<16, 0})
		}()
	}
}

func TestOps(t *testing.T) {
	effects := map[Op]bool{
		OpLaunch: true, OpCopyHtoD: true, OpCopyDtoH: true, OpCopyDtoD: true, OpCopyPeer: true, OpFill: true,
		OpRecord: false, OpWait: false, OpFree: false,
	}
	names := map[string]bool{}
	for op, effect := range effects {
		if op.Effect() != effect {
			t.Errorf("%v: Effect is %v", op, op.Effect())
		}
		names[op.String()] = true
	}
	if len(names) != len(effects) || Op(99).String() != "op 99" || Op(0).String() != "op 0" {
		t.Errorf("names %v, %v, %v", names, Op(99), Op(0))
	}
}

func TestAccess(t *testing.T) {
	for a, want := range map[Access]struct {
		name   string
		writes bool
	}{Scalar: {"scalar", false}, In: {"in", false}, Out: {"out", true}, InOut: {"inout", true}} {
		if a.String() != want.name || a.Writes() != want.writes {
			t.Errorf("%v writes: %v", a, a.Writes())
		}
	}
}

// Appending is the hot path of everything above.
func TestAppendsDoNotAllocate(t *testing.T) {
	l := newList(t, 1<<14)
	n := testing.AllocsPerRun(100, func() {
		l.Reset()
		l.Launch(1, Dim3{1, 1, 1}, Dim3{1, 1, 1}, 0, Arg{Slot: 1}, Arg{Slot: 2, Bytes: 4, Access: InOut})
		l.CopyHtoD(1, nil, 1)
		l.CopyDtoH(nil, 1, 1)
		l.CopyDtoD(1, 2, 1)
		l.CopyPeer(1, 1, 2, 2, 1)
		l.Fill(1, 0, 4, 1)
		l.Record(1)
		l.Wait(1)
		l.Free(1)
		for words := l.Words(); len(words) > 0; {
			_, words = Decode(words)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
