//go:build linux && (amd64 || arm64)

package nvidia

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

func TestOpenSaysWhatIsMissing(t *testing.T) {
	const driver13 = 13000
	for _, c := range []struct {
		name    string
		defines []string
		is      error                // errors.Is
		version *cudart.VersionError // errors.As
	}{
		{name: "no device", defines: []string{"-DINIT=100"}, is: cudart.ErrNoDevices},
		{name: "no device visible", defines: []string{"-DDEVICES=0"}, is: cudart.ErrNoDevices},
		{name: "the stub", defines: []string{"-DINIT=34"}, is: cudart.ErrNoDriver},
		{name: "a driver that does not start", defines: []string{"-DINIT=999"}, is: cudart.ErrUnknown},
		{name: "too old", defines: []string{"-DNO_PROC_ADDRESS", "-DDRIVER=11020"},
			version: &cudart.VersionError{Entry: "cuGetProcAddress", Needs: 11030, Driver: 11020}},
		{name: "a call too old", defines: []string{"-DOLD_PROC_ADDRESS", "-DDRIVER=11030"},
			version: &cudart.VersionError{Entry: "cuDeviceGetUuid", Needs: 11040, Driver: 11030}},
		{name: "lacks a call", defines: []string{`-DLACKS="cuMemPoolTrimTo"`},
			version: &cudart.VersionError{Entry: "cuMemPoolTrimTo", Needs: 11020, Driver: driver13}},
		{name: "lacks a call, old lookup", defines: []string{"-DOLD_PROC_ADDRESS", `-DLACKS="cuEventQuery"`},
			version: &cudart.VersionError{Entry: "cuEventQuery", Needs: 2000, Driver: driver13}},
		{name: "too old, but no device", defines: []string{"-DNO_PROC_ADDRESS", "-DDRIVER=11020", "-DDEVICES=0"}, is: cudart.ErrNoDevices},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := openLibrary(buildFake(t, c.defines...))
			if err == nil {
				t.Fatalf("opened: %+v", d)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error %q, want %q in it", err, c.is)
			}
			for _, other := range []error{cudart.ErrNoDriver, cudart.ErrNoDevices} {
				if c.is != other && errors.Is(err, other) {
					t.Errorf("error %q must not be %q: the simulator would take over", err, other)
				}
			}
			var v *cudart.VersionError
			switch errors.As(err, &v); {
			case (v == nil) != (c.version == nil):
				t.Errorf("error %v, want %v", err, c.version)
			case v != nil && *v != *c.version:
				t.Errorf("error %+v, want %+v", *v, *c.version)
			}
		})
	}
}

func TestOpenWithoutALibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	_, err := openLibrary(path)
	if !errors.Is(err, cudart.ErrNoDriver) || !strings.Contains(err.Error(), path) {
		t.Fatalf("error %v, want ErrNoDriver, naming %s", err, path)
	}
}

func TestOpenWithoutOptionalCalls(t *testing.T) {
	for _, defines := range [][]string{
		{"-DDRIVER=11040", "-DOLD_PROC_ADDRESS"}, // cuFuncLoad came with 12.4
		{`-DLACKS="cuFuncLoad"`},
	} {
		f := openFake(t, defines...)
		if f.entries[cuFuncLoad] != 0 {
			t.Errorf("%v: cuFuncLoad found", defines)
		}
	}
}

func TestConnectionsAreRaisedBeforeTheDriverStarts(t *testing.T) {
	unsetenv(t, connectionsEnv)
	f := openFake(t)
	if got := f.connections(); got != connections {
		t.Errorf("the driver read %s=%q, want %q", connectionsEnv, got, connections)
	}
	if got := libcGetenv(t, connectionsEnv); got != connections {
		t.Errorf("getenv gives %q, want %q", got, connections)
	}
}

func TestConnectionsOfTheUserStay(t *testing.T) {
	t.Setenv(connectionsEnv, "4")
	if got := openFake(t).connections(); got != "4" {
		t.Errorf("the driver read %q, want the user's 4", got)
	}
}
