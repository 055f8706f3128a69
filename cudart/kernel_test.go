package cudart_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

// flat is memory from address 100 on.
type flat []byte

func (m flat) Resolve(p cudart.DevicePtr, bytes uint64) []byte {
	from := uint64(p) - 100
	if from > uint64(len(m)) || bytes > uint64(len(m))-from {
		panic(cudart.Fault{Text: fmt.Sprintf("%d bytes at %d", bytes, p)})
	}
	return m[from : from+bytes]
}

func call(t *testing.T, m flat, args ...cudart.Arg) *cudart.KernelCall {
	t.Helper()
	l, err := cudart.NewList(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	l.Launch(1, cudart.Dim3{X: 2, Y: 3, Z: 4}, cudart.Dim3{X: 5, Y: 6, Z: 7}, 8, args...)
	c, _ := cudart.Decode(l.Words())
	k := new(cudart.KernelCall)
	k.Bind(c, m)
	return k
}

func TestKernelCall(t *testing.T) {
	m := flat{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}
	k := call(t, m,
		cudart.Arg{Slot: 104, Bytes: 7, Access: cudart.InOut},
		cudart.Arg{Slot: 1<<32 | 5},
		cudart.Arg{Slot: uint64(math.Float32bits(1.5))},
		cudart.Arg{Slot: math.Float64bits(2.5)},
		cudart.Arg{Slot: 1, Bytes: 0, Access: cudart.In},
	)
	if k.Grid != (cudart.Dim3{X: 2, Y: 3, Z: 4}) || k.Block != (cudart.Dim3{X: 5, Y: 6, Z: 7}) || k.Shared != 8 || k.Args() != 5 {
		t.Errorf("%+v", k)
	}
	if got := k.Bytes(0); !slices.Equal(got, m[4:11]) {
		t.Errorf("Bytes: %v", got)
	}
	// Three bytes are no fourth part of a word: they are left out.
	words := cudart.View[uint32](k, 0)
	if !slices.Equal(words, []uint32{2}) {
		t.Errorf("View: %v", words)
	}
	words[0] = 9
	if m[4] != 9 {
		t.Error("a view is a copy")
	}
	if k.Uint64(1) != 1<<32|5 || k.Uint32(1) != 5 || k.Float32(2) != 1.5 || k.Float64(3) != 2.5 {
		t.Errorf("scalars %d, %d, %v, %v", k.Uint64(1), k.Uint32(1), k.Float32(2), k.Float64(3))
	}
	if k.Bytes(4) != nil || cudart.View[byte](k, 4) != nil {
		t.Error("memory of no bytes was resolved")
	}
}

// A scalar is what the same bits in the slot's low bytes say, whatever is above them.
func TestScalarsOfAllSizes(t *testing.T) {
	const above = 0x1234_5678 << 32
	k := call(t, nil,
		cudart.Arg{Slot: math.MaxUint64},
		cudart.Arg{Slot: above | 0x8000_0001},
		cudart.Arg{Slot: above | 0x8001},
		cudart.Arg{Slot: above | 0x81},
	)
	if k.Int64(0) != -1 || k.Uint64(0) != math.MaxUint64 {
		t.Errorf("of 8 bytes: %d, %d", k.Int64(0), k.Uint64(0))
	}
	if k.Int32(1) != math.MinInt32+1 || k.Uint32(1) != 1<<31+1 {
		t.Errorf("of 4 bytes: %d, %d", k.Int32(1), k.Uint32(1))
	}
	if k.Int16(2) != math.MinInt16+1 || k.Uint16(2) != 1<<15+1 {
		t.Errorf("of 2 bytes: %d, %d", k.Int16(2), k.Uint16(2))
	}
	if k.Int8(3) != math.MinInt8+1 || k.Uint8(3) != 1<<7+1 {
		t.Errorf("of 1 byte: %d, %d", k.Int8(3), k.Uint8(3))
	}
}

func TestKernelCallFaults(t *testing.T) {
	for name, arg := range map[string]cudart.Arg{
		"a scalar":       {Slot: 100},
		"outside memory": {Slot: 101, Bytes: 4, Access: cudart.In},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if f, is := recover().(cudart.Fault); !is || f.Error() == "" {
					t.Error("no fault")
				}
			}()
			call(t, make(flat, 4), arg).Bytes(0)
		})
	}
}
