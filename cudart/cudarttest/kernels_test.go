package cudarttest

import (
	"maps"
	"slices"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

// Each kernel has both of its forms, with the parameters that the doc states.
func TestKernelsAreTwins(t *testing.T) {
	want := map[string][]int{
		"fill32": {8, 4, 4}, "add32": {8, 4, 4}, "copy32": {8, 8, 4}, "gate": {8, 8}, "busy": {8},
		"scalars": {8, 1, 2, 4, 8, 4, 8}, "coords": {8}, "idle": nil, "fault": nil,
	}
	entries, err := cudart.ParsePTX(Kernels.PTX)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]int{}
	for _, e := range entries {
		got[e.Name] = nil
		for _, p := range e.Params {
			got[e.Name] = append(got[e.Name], p.Bytes)
		}
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("PTX has %v, want %v", got, want)
	}
	inGo := slices.Sorted(maps.Keys(Kernels.Go))
	if names := slices.Sorted(maps.Keys(want)); !slices.Equal(inGo, names) {
		t.Errorf("Go has %v, want %v", inGo, names)
	}
}

// The child of a sticky check is found by the name that its parent has, however
// often that runs.
func TestOnly(t *testing.T) {
	for name, want := range map[string]string{
		"TestA/sticky/trap":       "^TestA$/^sticky$/^trap$",
		"TestA/sticky#01/trap#12": "^TestA$/^sticky$/^trap$",
		"TestA/a.b/x#y":           `^TestA$/^a\.b$/^x#y$`,
	} {
		if got := only(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
