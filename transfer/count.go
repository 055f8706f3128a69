package transfer

import (
	"sync/atomic"

	"github.com/gpuactor/gpuactor/actor"
)

// Count is what has been issued by one route.
type Count struct {
	Route        Route  // the way they took
	Count, Bytes uint64 // copies, and bytes of all of them
}

type counters struct {
	upload, download, peer, local struct{ n, bytes atomic.Uint64 }
}

type countersKey struct{}

func countersOf(sys *actor.System) *counters {
	return sys.Value(countersKey{}, func() any { return new(counters) }).(*counters)
}

func count(sys *actor.System, r Route, bytes uint64) {
	c := countersOf(sys)
	k := &c.local
	switch r {
	case RouteUpload:
		k = &c.upload
	case RouteDownload:
		k = &c.download
	case RoutePeer:
		k = &c.peer
	}
	k.n.Add(1)
	k.bytes.Add(bytes)
}

// Counts reports what the system's actors have issued so far, by route.
func Counts(sys *actor.System) []Count {
	c := countersOf(sys)
	return []Count{
		{RouteUpload, c.upload.n.Load(), c.upload.bytes.Load()},
		{RouteDownload, c.download.n.Load(), c.download.bytes.Load()},
		{RoutePeer, c.peer.n.Load(), c.peer.bytes.Load()},
		{RouteLocal, c.local.n.Load(), c.local.bytes.Load()},
	}
}
