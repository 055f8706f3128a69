package actortest

import (
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// explain says what failed, how to repeat it, and what is the least that fails.
func (c Config) explain(t *testing.T, f Func, o *Outcome) string {
	t.Helper()
	env := fmt.Sprintf("%s=%d", SeedEnv, o.Seed)
	text := fmt.Sprintf("%v\n\nrepeat it:\n  %s %s", o, env, command(t, f))
	short := c.shrink(t, f, o.Schedule)
	if short == nil {
		return text + "\n\nIts choices alone do not fail again: something else decides what happens."
	}
	again := c.run(t, f, chosen{schedule: *short, verbose: true})
	return fmt.Sprintf("%s\n\nor a shorter one (%d choices of %d):\n  %s %s='%v' %s\n\nof which this is what happens:\n%s",
		text, short.Len(), o.Schedule.Len(), env, ScheduleEnv, short, command(t, f), again.trace())
}

// command runs the test alone.
func command(t *testing.T, f Func) string {
	var parts []string
	for _, p := range strings.Split(t.Name(), "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(p)+"$")
	}
	return fmt.Sprintf("go test -run '%s' %s", strings.Join(parts, "/"), packageOf(f))
}

// packageOf is the package that a function is written in.
func packageOf(f Func) string {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	slash := strings.LastIndexByte(name, '/') + 1
	dot := slash + strings.IndexByte(name[slash:], '.')
	return strings.TrimSuffix(name[:dot], "_test")
}
