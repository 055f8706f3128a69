package device

import (
	"errors"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

func TestSizesAsTheyAreRead(t *testing.T) {
	for n, want := range map[size]string{
		0: "0 bytes", 1: "1 bytes", 1536: "1536 bytes", 10 << 10: "10 KiB", 1 << 20: "1 MiB", 1<<30 - 1: "1024 MiB",
		3 << 29: "1.5 GiB", 1 << 47: "128 TiB", 123456789: "117.7 MiB", 1<<64 - 1: "16 EiB",
	} {
		if n.String() != want {
			t.Errorf("%d bytes are %q, want %q", uint64(n), n, want)
		}
	}
}

// What is asked and what there is can be told apart, though both read alike.
func TestBudgetErrors(t *testing.T) {
	for _, c := range []struct {
		err  *BudgetError
		says string
	}{
		{&BudgetError{4 << 30, 1 << 30}, "device: 4 GiB asked, the whole budget is 1 GiB"},
		{&BudgetError{1<<30 + 1, 1 << 30}, "device: 1073741825 bytes asked, the whole budget is 1073741824 bytes"},
	} {
		if got := c.err.Error(); !strings.HasPrefix(got, c.says) || !strings.Contains(got, "WithBudget") {
			t.Errorf("%q, want %q and how to change it", got, c.says)
		}
		if !errors.Is(c.err, cudart.ErrOutOfMemory) {
			t.Error("not out of memory")
		}
	}
	if got := (MemoryStats{Budget: 8 << 30, Held: 3 << 29}).String(); got != "1.5 GiB of 8 GiB held" {
		t.Errorf("%q", got)
	}
}
