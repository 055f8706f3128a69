package transfer

import (
	"errors"

	"github.com/gpuactor/gpuactor/device"
)

// Route is the way that bytes take.
type Route string

// The routes.
const (
	RouteLocal    Route = "local"    // inside one device
	RouteUpload   Route = "upload"   // pinned memory to device
	RouteDownload Route = "download" // device to pinned memory
	RoutePeer     Route = "peer"     // device to device
)

// routeBetween decides the way from one device to another.
func routeBetween(from, to *device.Device) (Route, bool) {
	switch {
	case from == to:
		return RouteLocal, true
	case from.Reaches(to):
		return RoutePeer, true
	}
	return "", false
}

// ErrNoRoute is a pair of devices without a peer path.
var ErrNoRoute = errors.New("transfer: no peer path between these devices")
