//go:build linux && (amd64 || arm64)

package nvidia

import (
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
)

// Submit does not check that ctx is current, which would be one more call. With
// another one current the driver refuses some commands, and runs others in the
// stream's own context; none goes elsewhere than into the stream.
func (d *driver) Submit(_ cudart.Context, s cudart.Stream, l *cudart.List) (int, error) {
	words := l.Words()
	if len(words) == 0 {
		return -1, nil
	}
	if s == 0 {
		c, _ := cudart.Decode(words)
		return 0, noStream(entryOf(c))
	}
	refused, code := d.submit(s, words)
	if refused < 0 {
		return -1, nil
	}
	return refused, d.refusedCommand(words, refused, code)
}

// refusedCommand makes the error of the nth command of a list.
func (d *driver) refusedCommand(words []uint64, n int, code cudart.Code) error {
	var c cudart.Command
	for range n + 1 {
		c, words = cudart.Decode(words)
	}
	return d.refused(entryOf(c), code, fmt.Sprintf("command %d, %v", n, c.Op))
}

// entryOf is the entry point that a command calls.
func entryOf(c cudart.Command) entry {
	switch c.Op {
	case cudart.OpLaunch:
		return cuLaunchKernel
	case cudart.OpCopyHtoD:
		return cuMemcpyHtoDAsync
	case cudart.OpCopyDtoH:
		return cuMemcpyDtoHAsync
	case cudart.OpCopyDtoD:
		return cuMemcpyDtoDAsync
	case cudart.OpCopyPeer:
		return cuMemcpyPeerAsync
	case cudart.OpRecord:
		return cuEventRecord
	case cudart.OpWait:
		return cuStreamWaitEvent
	case cudart.OpFree:
		return cuMemFreeAsync
	}
	switch c.Width {
	case 2:
		return cuMemsetD16Async
	case 4:
		return cuMemsetD32Async
	}
	return cuMemsetD8Async
}
