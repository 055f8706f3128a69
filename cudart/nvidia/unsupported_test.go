//go:build !linux || !(amd64 || arm64)

package nvidia

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
)

func TestOpenSaysWhereTheDriverIsSupported(t *testing.T) {
	_, err := Open()
	if !errors.Is(err, cudart.ErrNoDriver) || !strings.Contains(err.Error(), runtime.GOOS) || !strings.Contains(err.Error(), "Linux only") {
		t.Errorf("Open: %v", err)
	}
}
