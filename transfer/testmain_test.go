package transfer

import (
	"testing"

	"go.uber.org/goleak"
)

// protoactor's dead letters leave a goroutine behind for a second.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"))
}
