//go:build linux && (amd64 || arm64)

package nvidia

import (
	"errors"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

func TestTableIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for e, info := range table {
		switch {
		case !strings.HasPrefix(info.name, "cu"), strings.Contains(info.name, "_"):
			t.Errorf("entry %d is named %q: the lookup takes names without a suffix", e, info.name)
		case seen[info.name]:
			t.Errorf("%s is there twice", info.name)
		case info.version < 2000 || info.version%10 != 0:
			t.Errorf("%s: version %d is none", info.name, info.version)
		case !info.optional && info.version > 11040:
			t.Errorf("%s needs %d: every driver as of 11.4 must do", info.name, info.version)
		}
		seen[info.name] = true
	}
}

func TestResolve(t *testing.T) {
	lookup := func(missing ...string) func(string, int) uintptr {
		return func(name string, version int) uintptr {
			for _, m := range missing {
				if m == name {
					return 0
				}
			}
			return uintptr(version)
		}
	}
	a, err := resolve(lookup(), 12000)
	if err != nil {
		t.Fatal(err)
	}
	for e, info := range table {
		if a[e] != uintptr(info.version) {
			t.Errorf("%s was asked for as of %d, want %d", info.name, a[e], info.version)
		}
	}
	if a, err = resolve(lookup("cuFuncLoad"), 12000); err != nil || a[cuFuncLoad] != 0 || a[cuInit] == 0 {
		t.Errorf("without cuFuncLoad: %v", err)
	}
	_, err = resolve(lookup("cuMemPoolTrimTo", "cuModuleUnload", "cuMemPoolCreate"), 11000)
	var v *cudart.VersionError
	if !errors.As(err, &v) || v.Entry != "cuMemPoolCreate" || v.Needs != 11020 || v.Driver != 11000 {
		t.Errorf("error %v, want one for cuMemPoolCreate, the first that is missing", err)
	}
}
