package actortest

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/actor/internal/seam"
)

// forever is longer than any test's timers: when so much of the bubble's time has passed,
// nothing else can happen.
const forever = 50 * 365 * 24 * time.Hour

// watchdog notices that nothing can happen any more.
type watchdog struct{ quit, done chan struct{} }

func watch(k *conductor, r *run, sys *actor.System) *watchdog {
	w := &watchdog{make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(w.done)
		if w.waits() {
			return
		}
		synctest.Wait() // the conductor waits elsewhere: what it has done can be looked at
		text := k.stuck()
		if k.serving != nil {
			panic("actortest: " + text)
		}
		r.fail(text)
		seam.Stop(sys) // so that whoever waits in the library comes back
		if !w.waits() {
			panic("actortest: the test does not end, though all actors were stopped\n" + text)
		}
	}()
	return w
}

// waits reports that the run has ended; false is that it does not.
func (w *watchdog) waits() bool {
	timer := time.NewTimer(forever)
	defer timer.Stop()
	select {
	case <-w.quit:
		return true
	case <-timer.C:
		return false
	}
}

func (w *watchdog) end() {
	close(w.quit)
	<-w.done
}

// stuck says who waits for what. Nobody runs.
func (k *conductor) stuck() string {
	if m := k.serving; m != nil {
		return fmt.Sprintf("%q blocks outside the library, and with it the whole system; here it must not\n%s", m.actor.Name(), stacks("actor.(*coroutine).begin"))
	}
	var all []seam.Actor
	for _, t := range k.threads {
		all = t.All(all)
	}
	slices.SortFunc(all, func(a, b seam.Actor) int { return cmp.Compare(a.Number(), b.Number()) })
	var b strings.Builder
	b.WriteString("deadlock: nothing can happen any more")
	for _, a := range all {
		fmt.Fprintf(&b, "\n%q %s", a.Name(), a.Waits(&k.names))
	}
	if len(all) == 0 {
		b.WriteString("\nno actor is left")
	}
	fmt.Fprintf(&b, "\nand the test:\n%s", stacks("actortest.(*run).call"))
	return b.String()
}

// stacks are those of goroutines of a bubble that come from a function.
func stacks(from string) string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var some [][]byte
	for _, g := range bytes.Split(buf, []byte("\n\n")) {
		head, _, _ := bytes.Cut(g, []byte("\n"))
		if bytes.Contains(head, []byte("synctest bubble")) && bytes.Contains(g, []byte(from)) {
			some = append(some, g)
		}
	}
	return string(bytes.Join(some, []byte("\n\n")))
}
