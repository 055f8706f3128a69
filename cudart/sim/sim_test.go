package sim

import (
	"testing"

	"go.uber.org/goleak"
)

// Every test closes its machine, so that nothing is left running behind it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
