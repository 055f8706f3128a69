package bench

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart/check"
)

func quickRig(t *testing.T) *Rig {
	t.Helper()
	r := &Rig{Quick: true, Runtime: runtimeName()}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Each round runs twice, since the second one finds what the first one left.
func TestEveryRound(t *testing.T) {
	r := quickRig(t)
	seen := map[[2]string]bool{}
	for _, c := range Rounds() {
		if id := [2]string{c.Case, c.Side}; seen[id] {
			t.Errorf("%s of %s stands there twice", c.Side, c.Case)
		} else {
			seen[id] = true
		}
		for range 2 {
			res := r.Run(c.Case, c.Side)
			if res.Error != "" || res.Unit != c.Unit || res.Value < 0 {
				t.Errorf("%+v", res)
			}
		}
	}
}

// No benchmark gains by leaving out an edge: the race checker finds nothing in any of
// them.
func TestNoRoundHasARace(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs every round once more")
	}
	r := quickRig(t)
	r.races = check.To(t)
	for _, c := range Rounds() {
		if c.Case == "handoff-check" {
			continue // it has a checker of its own
		}
		if res := r.Run(c.Case, c.Side); res.Error != "" {
			t.Errorf("%+v", res)
		}
	}
}

func TestServe(t *testing.T) {
	r := quickRig(t)
	var out bytes.Buffer
	if err := r.Serve(strings.NewReader("alloc go\nno such\n"), &out); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(&out)
	var first, second Result
	if err := dec.Decode(&first); err != nil {
		t.Fatal(err)
	}
	if err := dec.Decode(&second); err != nil {
		t.Fatal(err)
	}
	if first.Error != "" || first.Unit != Nanoseconds || first.Value <= 0 {
		t.Errorf("first: %+v", first)
	}
	if second.Error == "" || second.Case != "no" || second.Side != "such" {
		t.Errorf("second: %+v", second)
	}
	if err := r.Serve(strings.NewReader("half\n"), &out); err == nil {
		t.Error("half a request was served")
	}
}
