// Package actortest runs a whole system in a test, its actors and the simulated GPU, on
// one goroutine at a time, in an order that a seed decides. What is not ordered goes
// wrong for some seed, and that seed goes wrong again:
//
//	func TestPipeline(t *testing.T) {
//		actortest.Seeds(t, 1000, func(t testing.TB, sys *actor.System) {
//			got, err := pipeline(t.Context(), sys)
//			if err != nil || !slices.Equal(got, want) {
//				t.Errorf("%v, %v", got, err)
//			}
//		})
//	}
//
// Each seed gets a new machine under [sim.Chaos], a race checker around it, and a new
// system. The seed chooses which actor has the next turn, whether an actor that another
// one needs seems to be busy, and all that the device does. A failing test prints the
// seed, the command that repeats it, and a short schedule that still fails, where there
// is one:
//
//	GPUACTOR_SEED=17 go test -run '^TestPipeline$' example.com/pipeline
//
// # Time
//
// A seed runs in a bubble of testing/synctest. Timers, deadlines and contexts have its
// time, which goes on when nobody has anything to do. When nothing can happen any more
// and the test has not ended, it fails with what each actor waits for.
//
// # What a test must do without
//
// The function may start goroutines, use channels and contexts, and wait in this library,
// as long as it made them: a channel or a mutex that is used by another test too
// stops the bubble's time. synctest.Wait is taken. An actor that blocks outside the library
// blocks the whole system here, and after a while the test panics and says so.
//
// # What is not the seed's
//
// Goroutines that the function itself starts, protoactor's own actors, and what
// context.AfterFunc runs: each such goroutine runs until it blocks whenever it can, and two
// that race with each other, or with the rest of the turn of the actor that woke them by
// something else than this library, may go either way. On systems other than Linux that
// is so also for one that this library woke. What a program reads from the system's
// random numbers, maps in their order, or real I/O is not the seed's either.
package actortest
