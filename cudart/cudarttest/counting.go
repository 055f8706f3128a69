package cudarttest

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
)

// Counter is a runtime that counts what it is asked. A test uses it to show that
// something costs no driver call. It may be read at any time.
type Counter struct {
	cudart.Runtime
	calls    atomic.Int64
	commands [cudart.OpFree + 1]atomic.Int64
}

// Counting is rt with a count of its calls and commands.
func Counting(rt cudart.Runtime) *Counter { return &Counter{Runtime: rt} }

// Calls is how many calls reached the runtime, other than those that only tell what
// the runtime or a device is.
func (c *Counter) Calls() int { return int(c.calls.Load()) }

// Commands is how many commands of a kind were submitted.
func (c *Counter) Commands(op cudart.Op) int { return int(c.commands[op].Load()) }

// Submit counts the call, and the commands of the list.
func (c *Counter) Submit(ctx cudart.Context, s cudart.Stream, l *cudart.List) (int, error) {
	c.calls.Add(1)
	for words := l.Words(); len(words) > 0; {
		var cmd cudart.Command
		cmd, words = cudart.Decode(words)
		c.commands[cmd.Op].Add(1)
	}
	return c.Runtime.Submit(ctx, s, l)
}

// count counts a call that is about to be made.
func (c *Counter) count() cudart.Runtime {
	c.calls.Add(1)
	return c.Runtime
}

// The calls that are counted, beside Submit.

func (c *Counter) RetainPrimary(device int) (cudart.Context, error) {
	return c.count().RetainPrimary(device)
}
func (c *Counter) ReleasePrimary(device int) error { return c.count().ReleasePrimary(device) }
func (c *Counter) CreateContext(device int) (cudart.Context, error) {
	return c.count().CreateContext(device)
}
func (c *Counter) DestroyContext(ctx cudart.Context) error { return c.count().DestroyContext(ctx) }
func (c *Counter) SetCurrent(ctx cudart.Context) error     { return c.count().SetCurrent(ctx) }
func (c *Counter) Current() (cudart.Context, error)        { return c.count().Current() }
func (c *Counter) SynchronizeContext(ctx cudart.Context) error {
	return c.count().SynchronizeContext(ctx)
}
func (c *Counter) EnablePeer(ctx, peer cudart.Context) error { return c.count().EnablePeer(ctx, peer) }
func (c *Counter) CreateStream(ctx cudart.Context) (cudart.Stream, error) {
	return c.count().CreateStream(ctx)
}
func (c *Counter) DestroyStream(ctx cudart.Context, s cudart.Stream) error {
	return c.count().DestroyStream(ctx, s)
}
func (c *Counter) SynchronizeStream(ctx cudart.Context, s cudart.Stream) error {
	return c.count().SynchronizeStream(ctx, s)
}
func (c *Counter) CreateEvent(ctx cudart.Context, timing bool) (cudart.Event, error) {
	return c.count().CreateEvent(ctx, timing)
}
func (c *Counter) DestroyEvent(ctx cudart.Context, e cudart.Event) error {
	return c.count().DestroyEvent(ctx, e)
}
func (c *Counter) QueryEvent(e cudart.Event) (bool, error) { return c.count().QueryEvent(e) }
func (c *Counter) Elapsed(start, end cudart.Event) (time.Duration, error) {
	return c.count().Elapsed(start, end)
}
func (c *Counter) CreatePool(ctx cudart.Context) (cudart.Pool, error) {
	return c.count().CreatePool(ctx)
}
func (c *Counter) DestroyPool(ctx cudart.Context, p cudart.Pool) error {
	return c.count().DestroyPool(ctx, p)
}
func (c *Counter) AllowPeer(ctx cudart.Context, p cudart.Pool, peer int) error {
	return c.count().AllowPeer(ctx, p, peer)
}
func (c *Counter) TrimPool(ctx cudart.Context, p cudart.Pool, keep uint64) error {
	return c.count().TrimPool(ctx, p, keep)
}
func (c *Counter) Alloc(ctx cudart.Context, p cudart.Pool, bytes uint64, s cudart.Stream) (cudart.DevicePtr, error) {
	return c.count().Alloc(ctx, p, bytes, s)
}
func (c *Counter) MemInfo(ctx cudart.Context) (free, total uint64, err error) {
	return c.count().MemInfo(ctx)
}
func (c *Counter) AllocHost(ctx cudart.Context, bytes uint64) (unsafe.Pointer, error) {
	return c.count().AllocHost(ctx, bytes)
}
func (c *Counter) FreeHost(ctx cudart.Context, p unsafe.Pointer) error {
	return c.count().FreeHost(ctx, p)
}
func (c *Counter) LoadModule(ctx cudart.Context, image cudart.Image) (cudart.Module, error) {
	return c.count().LoadModule(ctx, image)
}
func (c *Counter) UnloadModule(ctx cudart.Context, m cudart.Module) error {
	return c.count().UnloadModule(ctx, m)
}
func (c *Counter) Function(ctx cudart.Context, m cudart.Module, name string) (cudart.Function, cudart.FunctionInfo, error) {
	return c.count().Function(ctx, m, name)
}
func (c *Counter) InstantiateLaunch(ctx cudart.Context, f cudart.Function, args int) (cudart.LaunchGraph, error) {
	return c.count().InstantiateLaunch(ctx, f, args)
}
func (c *Counter) DestroyLaunch(ctx cudart.Context, g cudart.LaunchGraph) error {
	return c.count().DestroyLaunch(ctx, g)
}
