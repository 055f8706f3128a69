package actortest_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/actor/actortest"
)

// A run that does not return has not passed, as when FailNow of a test around it was called.
func TestARunThatDoesNotReturnFails(t *testing.T) {
	for name, f := range map[string]actortest.Func{
		"itself":       func(testing.TB, *actor.System) { runtime.Goexit() },
		"in a cleanup": func(t testing.TB, _ *actor.System) { t.Cleanup(runtime.Goexit) },
	} {
		if o := (actortest.Config{}).Try(t, 0, f); !o.Failed() || !strings.Contains(o.String(), "Goexit") {
			t.Errorf("%s: %v", name, o)
		}
	}
}

// Skip without a reason skips.
func TestSkipNeedsNoReason(t *testing.T) {
	runs := 0
	t.Run("skips", func(t *testing.T) {
		actortest.Seeds(t, 3, func(t testing.TB, _ *actor.System) {
			runs++
			t.Skip()
		})
	})
	if runs != 1 {
		t.Errorf("%d runs", runs)
	}
}
