package bytecount

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// memory is a device's memory for one launch: a slice at each made-up address.
type memory map[cudart.DevicePtr][]byte

func (m memory) Resolve(p cudart.DevicePtr, bytes uint64) []byte {
	b, ok := m[p]
	if !ok || bytes > uint64(len(b)) {
		panic(cudart.Fault{Text: "outside memory"})
	}
	return b[:bytes]
}

func (m memory) put(b []byte) cudart.Arg {
	at := cudart.DevicePtr(len(m)+1) << 20
	m[at] = b
	return cudart.Arg{Slot: uint64(at), Bytes: uint64(len(b)), Access: cudart.InOut}
}

func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

// launch runs the Go form of a kernel as the simulator does, through a list.
func launch(t *testing.T, name string, m memory, args ...cudart.Arg) (fault error) {
	t.Helper()
	l, err := cudart.NewList(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	one := cudart.Dim3{X: 1, Y: 1, Z: 1}
	if !l.Launch(1, one, one, 0, args...) {
		t.Fatal("the list is full")
	}
	c, _ := cudart.Decode(l.Words())
	var k cudart.KernelCall
	k.Bind(c, m)
	defer func() {
		if f, ok := recover().(cudart.Fault); ok {
			fault = f
		}
	}()
	Kernels.Go[name](&k)
	return nil
}

func TestHist256(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, 5, 255, 4096, 4099} {
		data := random(n)
		bins := make([]uint32, 256)
		bins[7] = 100 // it adds, and does not overwrite
		m := memory{}
		args := []cudart.Arg{m.put(data), {Slot: uint64(n)}, m.put(bytesOf(bins))}
		if err := launch(t, "hist256", m, args...); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		want := [256]uint64{7: 100}
		for _, b := range data {
			want[b]++
		}
		for i := range want {
			if uint64(bins[i]) != want[i] {
				t.Fatalf("%d bytes: value %d occurs %d times, counted %d", n, i, want[i], bins[i])
			}
		}
	}
}

func TestHist256CountsOnlyTheFirstN(t *testing.T) {
	m, bins := memory{}, make([]uint32, 256)
	if err := launch(t, "hist256", m, m.put([]byte("aab")), cudart.Arg{Slot: 2}, m.put(bytesOf(bins))); err != nil {
		t.Fatal(err)
	}
	if bins['a'] != 2 || bins['b'] != 0 {
		t.Errorf("counted %d a and %d b of the first two bytes of aab", bins['a'], bins['b'])
	}
}

func TestKernelsFaultOutsideTheirMemory(t *testing.T) {
	bins, total := make([]uint32, 256), make([]uint64, 256)
	var fault cudart.Fault
	m := memory{}
	if err := launch(t, "hist256", m, m.put([]byte("abc")), cudart.Arg{Slot: 4}, m.put(bytesOf(bins))); !errors.As(err, &fault) {
		t.Errorf("hist256 of 4 bytes of 3: %v", err)
	}
	if err := launch(t, "accumulate", m, m.put(bytesOf(bins[:255])), m.put(bytesOf(total))); !errors.As(err, &fault) {
		t.Errorf("accumulate of 255 counts: %v", err)
	}
}

func TestAccumulateAndMerge(t *testing.T) {
	bins, file, all := make([]uint32, 256), make([]uint64, 256), make([]uint64, 256)
	for i := range 256 {
		bins[i], file[i], all[i] = 1<<32-1, uint64(i), 1<<40
	}
	m := memory{}
	b, f, a := m.put(bytesOf(bins)), m.put(bytesOf(file)), m.put(bytesOf(all))
	if err := errors.Join(launch(t, "accumulate", m, b, f), launch(t, "merge", m, f, a)); err != nil {
		t.Fatal(err)
	}
	for i := range 256 {
		sum := uint64(1<<32-1) + uint64(i)
		if file[i] != sum || all[i] != 1<<40+sum {
			t.Fatalf("bin %d: file %d, all %d", i, file[i], all[i])
		}
	}
}

// Both forms of the module must have the same kernels, and what the driver is
// given must at least have the form that the library reads.
func TestPTXHasTheKernels(t *testing.T) {
	entries, err := cudart.ParsePTX(Kernels.PTX)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		params := e.Name
		for _, p := range e.Params {
			kind := " u64"
			if p.Pointer {
				kind = " ptr"
			}
			params += kind
			if p.Bytes != 8 {
				t.Errorf("%s: parameter %s has %d bytes", e.Name, p.Name, p.Bytes)
			}
		}
		got = append(got, params)
		if Kernels.Go[e.Name] == nil {
			t.Errorf("%s has no Go form", e.Name)
		}
	}
	if want := []string{"hist256 ptr u64 ptr", "accumulate ptr ptr", "merge ptr ptr"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(Kernels.Go) != len(entries) {
		t.Errorf("%d kernels in Go, %d in PTX", len(Kernels.Go), len(entries))
	}
	if strings.Contains(Kernels.PTX, "%!") {
		t.Error("a format of the PTX's text went wrong")
	}
}
