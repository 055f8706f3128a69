package actortest_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/actor/actortest"
)

// TestToFail fails in a child of TestTheCommandRepeatsIt alone.
func TestToFail(t *testing.T) {
	if os.Getenv("ACTORTEST_CHILD") == "" {
		t.Skip("only for TestTheCommandRepeatsIt")
	}
	t.Run("a name", func(t *testing.T) {
		actortest.Config{Around: withoutWaits}.Seeds(t, 50, handsOff)
	})
}

// TestToBlock panics in a child of TestWhoBlocksOutsideIsNamed alone.
func TestToBlock(t *testing.T) {
	if os.Getenv("ACTORTEST_CHILD") == "" {
		t.Skip("only for TestWhoBlocksOutsideIsNamed")
	}
	actortest.Run(t, 0, func(t testing.TB, sys *actor.System) {
		never := make(chan int)
		g := sys.Group(t.Context())
		g.Go("stubborn", sys.Device(0), func(*actor.Stream) error {
			<-never
			return nil
		})
		_ = g.Wait()
	})
}

func TestWhoBlocksOutsideIsNamed(t *testing.T) {
	if out := child(t, []string{"-test.run", "^TestToBlock$"}); !strings.Contains(out, `"stubborn" blocks outside the library`) {
		t.Error(out)
	}
}

// child runs a test that fails, with more of an environment.
func child(t *testing.T, args []string, env ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), "ACTORTEST_CHILD=1"), env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("it passes:\n%s", out)
	}
	return string(out)
}

// What is printed for a seed that fails repeats the failure, and so does the schedule.
func TestTheCommandRepeatsIt(t *testing.T) {
	out := child(t, []string{"-test.run", "^TestToFail$"})
	wrong := regexp.MustCompile(`word \d+ is \d+, want \d+`)
	command := regexp.MustCompile(`(?m)^ *GPUACTOR_SEED=(\d+)( GPUACTOR_SCHEDULE='([^']*)')? go test -run '([^']*)' (.*)$`)
	found := command.FindAllStringSubmatch(out, -1)
	if len(found) != 2 {
		t.Fatalf("%d commands:\n%s", len(found), out)
	}
	for i, c := range found {
		if c[5] != "github.com/gpuactor/gpuactor/actor/actortest" {
			t.Errorf("the package is %s", c[5])
		}
		again := child(t, []string{"-test.run", c[4]}, "GPUACTOR_SEED="+c[1], "GPUACTOR_SCHEDULE="+c[3])
		if i == 0 && wrong.FindString(again) != wrong.FindString(out) || !wrong.MatchString(again) {
			t.Errorf("%s\nit was\n%s", again, out)
		}
		if !strings.Contains(again, "what happened:\n") || !strings.Contains(again, `producer runs, and `) {
			t.Errorf("nothing says what happened:\n%s", again)
		}
	}
	if n := strings.Count(found[1][3], "="); n > 12 {
		t.Errorf("the short schedule makes %d choices: %s", n, found[1][3])
	}
	t.Log(out)
}
