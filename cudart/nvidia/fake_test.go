//go:build linux && (amd64 || arm64)

package nvidia

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gpuactor/gpuactor/cudart"
)

//go:embed testdata/fakecuda.c
var fakeSource string

// built is the kinds built so far. Each use gets a file of its own: a library
// opened twice from one file would be one library, with one record.
var built = map[string][]byte{}

// buildFake builds a kind of testdata/fakecuda.c. On a machine without a C
// compiler the tests that need one are skipped.
func buildFake(t testing.TB, defines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libfakecuda.so")
	key := strings.Join(defines, " ")
	if built[key] == nil {
		built[key] = compileFake(t, path, defines)
	} else if err := os.WriteFile(path, built[key], 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func compileFake(t testing.TB, path string, defines []string) []byte {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to build the stand-in for the driver library with")
	}
	cmd := exec.Command(cc, append(defines, "-shared", "-fPIC", "-O1", "-w", "-o", path, "-x", "c", "-")...)
	cmd.Stdin = strings.NewReader(fakeSource)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fake is a driver on the stand-in, and the way to its record.
type fake struct {
	*driver
	count       func() uint64
	at          func(i uint64) unsafe.Pointer
	reset       func()
	refuse      func(name string, nth uint64, code int32)
	connections func() string
}

func openFake(t testing.TB, defines ...string) *fake {
	t.Helper()
	path := buildFake(t, defines...)
	d, err := openLibrary(path)
	if err != nil {
		t.Fatalf("openLibrary: %v", err)
	}
	return (&fake{driver: d}).bind(t, path)
}

func (f *fake) bind(t testing.TB, path string) *fake {
	t.Helper()
	lib, err := purego.Dlopen(path, purego.RTLD_NOW)
	if err != nil {
		t.Fatal(err)
	}
	purego.RegisterLibFunc(&f.count, lib, "fake_count")
	purego.RegisterLibFunc(&f.at, lib, "fake_call")
	purego.RegisterLibFunc(&f.reset, lib, "fake_reset")
	purego.RegisterLibFunc(&f.refuse, lib, "fake_refuse")
	purego.RegisterLibFunc(&f.connections, lib, "fake_connections")
	f.reset()
	return f
}

// calls is the record since the last reset, one text for each call: the name
// without its prefix, and the arguments in hexadecimal.
func (f *fake) calls() []string {
	var out []string
	for i := range f.count() {
		c := (*struct {
			name [32]byte
			args [20]uint64
			n    uint64
		})(f.at(i))
		name, _, _ := strings.Cut(string(c.name[:]), "\x00")
		s := strings.TrimPrefix(name, "cu")
		for _, a := range c.args[:c.n] {
			s += fmt.Sprintf(" %x", a)
		}
		out = append(out, s)
	}
	return out
}

// context makes a context current for the rest of the test, on this thread.
func (f *fake) context(t testing.TB) cudart.Context {
	t.Helper()
	runtime.LockOSThread()
	ctx, err := f.CreateContext(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.SetCurrent(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.SetCurrent(0); err != nil {
			t.Error(err)
		}
		runtime.UnlockOSThread()
	})
	f.reset()
	return ctx
}

func newList(t testing.TB) *cudart.List {
	t.Helper()
	l, err := cudart.NewList(64 << 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// libcGetenv is what a C library of this process sees.
func libcGetenv(t testing.TB, key string) string {
	t.Helper()
	var getenv func(string) string
	purego.RegisterLibFunc(&getenv, purego.RTLD_DEFAULT, "getenv")
	return getenv(key)
}

// unsetenv takes a variable away for the test.
func unsetenv(t testing.TB, key string) {
	t.Helper()
	t.Setenv(key, "") // so that it is put back
	if err := os.Unsetenv(key); err != nil {
		t.Fatal(err)
	}
}
