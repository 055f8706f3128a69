//go:build !linux || !(amd64 || arm64)

package nvidia

import (
	"fmt"
	"runtime"

	"github.com/gpuactor/gpuactor/cudart"
)

func open() (cudart.Runtime, error) {
	return nil, fmt.Errorf("%w: the driver library is supported on Linux only (amd64 and arm64), and this is %s/%s",
		cudart.ErrNoDriver, runtime.GOOS, runtime.GOARCH)
}
