package buffer

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
	"github.com/gpuactor/gpuactor/device"
)

// rig is two devices and the users that a test makes, all on the test's thread. When
// the test ends no buffer, stream or event is left.
type rig struct {
	testing.TB
	rt    *refusing
	devs  []*device.Device
	cur   *device.Device
	users []*user
	gates []*gate
	live  int
}

func newRig(t testing.TB, budget uint64) *rig {
	t.Helper()
	r := &rig{TB: t, live: Live()}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	r.rt, r.devs = openDevices(t, budget)
	t.Cleanup(r.close)
	r.on(r.devs[0])
	for _, d := range r.devs { // loading waits for gates that are closed later
		r.ok(d.Load(module))
	}
	return r
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) on(d *device.Device) {
	r.Helper()
	if r.cur != d {
		r.ok(d.Bind())
		r.cur = d
	}
}

func (r *rig) close() {
	for _, g := range r.gates {
		g.open()
	}
	r.rt.refuses(nil)
	for _, u := range r.users {
		u.end()
	}
	for _, g := range r.gates { // its readers end before the devices do
		r.ok(g.host.ReleaseHere())
	}
	r.ok(r.rt.SetCurrent(0))
	for _, d := range r.devs {
		if n := d.Streams(); n != 0 {
			r.Errorf("%v: %d streams are left", d, n)
		}
		r.ok(d.Close())
		if n := d.Events(); n != 0 {
			r.Errorf("%v: %d events are left", d, n)
		}
	}
	r.ok(r.rt.Close())
	if n := Live(); n != r.live {
		r.Errorf("%d buffers are live, there were %d", n, r.live)
	}
}

// user is an owner whose stream the test drives.
type user struct {
	r      *rig
	o      *Owner
	ctx    context.Context
	cancel context.CancelCauseFunc
	waited func() // called at every vain look of a wait
	gone   bool
	err    error // that Owner returns
}

func (r *rig) user(d *device.Device, name string) *user {
	r.Helper()
	r.on(d)
	s, err := d.NewStream(name)
	r.ok(err)
	u := &user{r: r, o: NewOwner(name, s), waited: func() {}}
	u.ctx, u.cancel = context.WithCancelCause(context.Background())
	u.o.Context = func() context.Context { return u.ctx }
	u.o.Await = u.await
	r.users = append(r.users, u)
	return u
}

func (u *user) await(done func() (bool, error)) error {
	for end := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		u.r.on(u.o.Stream.Device())
		if ok, err := done(); ok || err != nil {
			return err
		}
		if err := context.Cause(u.ctx); err != nil {
			return err
		}
		if time.Now().After(end) {
			return errors.New("the test waited for ever")
		}
		u.waited()
	}
}

// Owner is part of [User]. Whoever acts has its context current.
func (u *user) Owner() (*Owner, error) {
	u.r.on(u.o.Stream.Device())
	return u.o, u.err
}

// end releases what the user owns and retires its stream.
func (u *user) end() {
	if u.gone {
		return
	}
	u.gone = true
	u.r.on(u.o.Stream.Device())
	u.o.Reclaim()
	u.o.End()
	u.r.ok(u.o.Stream.Retire())
	u.cancel(nil)
}

// sync waits until all that the user's stream was given is done.
func (u *user) sync() {
	u.r.Helper()
	u.r.on(u.o.Stream.Device())
	p, err := u.o.Stream.Flush(true)
	u.r.ok(err)
	u.r.ok(u.await(func() (bool, error) { return p.Done(u.r.cur) }))
}

// handles is a list of buffers.
func handles(hs ...Handle) *Handles {
	h := &Handles{}
	h.Add(hs...)
	return h
}

// give hands a buffer over, and leaves it in flight.
func (u *user) give(hs ...Handle) error {
	u.r.on(u.o.Stream.Device())
	if err := CanGive(u.o, handles(hs...)); err != nil {
		return err
	}
	p, err := u.o.Stream.Flush(true)
	if err != nil {
		return err
	}
	Give(u.o, handles(hs...), p)
	return nil
}

func (u *user) take(hs ...Handle) error {
	u.r.on(u.o.Stream.Device())
	return Take(u.o, handles(hs...))
}

var (
	module = device.NewModule(cudarttest.Kernels)
	fill32 = module.Kernel("fill32", device.Out[uint32](), device.Scalar[uint32](), device.Scalar[uint32]())
	copy32 = module.Kernel("copy32", device.Out[uint32](), device.In[uint32](), device.Scalar[uint32]())
	gateK  = module.Kernel("gate", device.In[uint32](), device.Scalar[uint64]())
)

// fill launches a kernel that overwrites b.
func (u *user) fill(b Buf[uint32], v uint32) error {
	u.r.on(u.o.Stream.Device())
	return u.o.Stream.Launch(u.o.ID, fill32, device.Linear(b.Len()), b.Out(), device.U32(v), device.U32(uint32(b.Len())))
}

// copy launches a kernel that overwrites dst with src.
func (u *user) copy(dst, src Buf[uint32]) error {
	u.r.on(u.o.Stream.Device())
	return u.o.Stream.Launch(u.o.ID, copy32, device.Linear(dst.Len()), dst.Out(), src.In(), device.U32(uint32(dst.Len())))
}

// download issues a copy of src into dst.
func download[T Element](u *user, dst Host[T], src Buf[T]) error {
	u.r.on(u.o.Stream.Device())
	from, bytes, err := src.Use(u.o, cudart.In)
	if err != nil {
		return err
	}
	to, _, err := dst.Copying(u.o, cudart.Out)
	if err != nil {
		return err
	}
	w, gen := dst.Written()
	if err := u.o.Stream.Download(to, from, bytes, w, gen); err != nil {
		return err
	}
	dst.Copied(u.o)
	return nil
}

// read is what b holds.
func read[T Element](u *user, b Buf[T]) []T {
	u.r.Helper()
	h, err := NewHost[T](u, b.Len())
	u.r.ok(err)
	u.r.ok(download(u, h, b))
	got, err := h.Slice(u)
	u.r.ok(err)
	got = append([]T(nil), got...)
	u.r.ok(h.Release(u))
	return got
}

// gate holds streams: what they are given behind it runs when it is open.
type gate struct {
	r    *rig
	flag *uint32
	host Host[uint32]
}

func (r *rig) gate() *gate {
	r.Helper()
	h, err := HostOn[uint32](r.devs[0], 1)
	r.ok(err)
	g := &gate{r, &h.slice()[0], h}
	atomic.StoreUint32(g.flag, 0)
	r.gates = append(r.gates, g)
	return g
}

func (g *gate) hold(u *user) {
	g.r.Helper()
	g.r.on(u.o.Stream.Device())
	// Whoever holds owns the flag for the moment: kernels read it at any time.
	g.r.ok(u.o.Stream.Launch(hostID, gateK, device.Blocks(1, 1), g.host.arg(cudart.In), device.U64(uint64(20*time.Second))))
	_, err := u.o.Stream.Flush(false)
	g.r.ok(err)
}

func (g *gate) open() { atomic.StoreUint32(g.flag, 1) }

// ownership states that err is an OwnershipError with these things in it.
func (r *rig) ownership(err error, asker, owner string) {
	r.Helper()
	var e *OwnershipError
	if !errors.As(err, &e) {
		r.Errorf("%v is no OwnershipError", err)
		return
	}
	if e.Asker != asker || !strings.Contains(e.Owner, owner) || e.Buffer == "" {
		r.Errorf("buffer %q, asker %q, owner %q; want asker %q, owner %q", e.Buffer, e.Asker, e.Owner, asker, owner)
	}
	for _, part := range []string{e.Buffer, e.Asker, e.Owner} {
		if !strings.Contains(err.Error(), part) {
			r.Errorf("%q does not say %q", err, part)
		}
	}
}
