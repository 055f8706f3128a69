package check_test

import (
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check"
)

// idle is a runtime that does nothing, at once.
type idle struct {
	cudart.Runtime
	handles uintptr
}

func (r *idle) RetainPrimary(int) (cudart.Context, error) { return 1, nil }

func (r *idle) CreateStream(cudart.Context) (cudart.Stream, error) {
	r.handles++
	return cudart.Stream(r.handles), nil
}

func (r *idle) CreateEvent(cudart.Context, bool) (cudart.Event, error) {
	r.handles++
	return cudart.Event(r.handles), nil
}

func (r *idle) Alloc(cudart.Context, cudart.Pool, uint64, cudart.Stream) (cudart.DevicePtr, error) {
	r.handles++
	return cudart.DevicePtr(r.handles << 20), nil
}

func (*idle) Submit(cudart.Context, cudart.Stream, *cudart.List) (int, error) { return -1, nil }
func (*idle) QueryEvent(cudart.Event) (bool, error)                           { return true, nil }

// BenchmarkCommand is what the checker adds to a command: of buffers that go from one
// stream to another and back, each time with a kernel, a record and a wait in a
// submission of its own, and a question of the host now and then. An operation is a command.
func BenchmarkCommand(b *testing.B) {
	c := check.New(&idle{}, check.Options{Report: check.To(b)})
	ctx, _ := c.RetainPrimary(0)
	var streams [2]cudart.Stream
	var events [2]cudart.Event
	for i := range streams {
		streams[i], _ = c.CreateStream(ctx)
		events[i], _ = c.CreateEvent(ctx, false)
	}
	x, _ := c.Alloc(ctx, 0, 4096, streams[0])
	l, err := cudart.NewList(0)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%3 != 2 { // three commands are one round
			continue
		}
		k := i / 3 % 2
		l.Reset()
		if i > 3 {
			l.Wait(events[1-k])
		}
		l.Launch(1, one, one, 0, arg(x, 4096, cudart.InOut))
		l.Record(events[k])
		if _, err := c.Submit(ctx, streams[k], l); err != nil {
			b.Fatal(err)
		}
		if i%96 == 95 {
			if _, err := c.QueryEvent(events[k]); err != nil {
				b.Fatal(err)
			}
		}
	}
}
