package main

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"
)

// machine runs one program on a runtime, statement by statement.
type machine struct {
	p         *program.Program
	rt        cudart.Runtime
	streamsOf cudart.DefaultStreams
	touched   func(p unsafe.Pointer, bytes uint64, write bool) // before the host touches pinned memory
	name      namer                                            // nil: names are not wanted
	peek      bool                                             // see what is in memory at the end
	at        int                                              // the statement that is issued; before the first, -1

	contexts  []cudart.Context
	pools     []cudart.Pool
	functions []map[string]cudart.Function // by device
	streams   []cudart.Stream
	events    []cudart.Event
	memory    []uint64 // addresses; 0 before the alloc
	list      *cudart.List
	current   int // device whose context is current, -1 for none

	// What each statement read, as a hash, and behind that what each buffer held at the
	// end, where that is asked for.
	saw []uint64
}

// namer has names for what is in reports.
type namer interface {
	NameStream(s cudart.Stream, name string)
	NameMemory(at uint64, name string)
}

// run runs the program to its end, and closes the runtime.
func (m *machine) run() (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() { err = errors.Join(err, m.rt.SetCurrent(0), m.rt.Close()) }()
	if m.list, err = cudart.NewList(0); err != nil {
		return err
	}
	defer m.list.Close()
	m.at, m.current = -1, -1
	m.saw = make([]uint64, len(m.p.Statements)+len(m.p.Buffers))
	if err := m.prepare(); err != nil {
		return fmt.Errorf("before its first statement: %w", err)
	}
	for i := range m.p.Statements {
		m.at = i
		if err := m.issue(&m.p.Statements[i]); err != nil {
			return fmt.Errorf("line %d: %w", m.p.Statements[i].Line, err)
		}
	}
	if m.peek {
		return m.look()
	}
	return m.wait()
}

// look has the device read what every buffer that is still there holds.
func (m *machine) look() error {
	if err := m.wait(); err != nil {
		return err
	}
	for i, b := range m.p.Buffers {
		if m.p.Frees(i) {
			continue
		}
		m.at = len(m.p.Statements) + i
		m.list.Reset()
		m.kernel(b.Device, touchName(1), program.Access{Buffer: i, Bytes: b.Bytes})
		if _, err := m.rt.Submit(m.on(b.Device), m.streamsOf.LegacyStream(m.contexts[b.Device]), m.list); err != nil {
			return err
		}
	}
	return m.wait()
}

// wait waits for all devices.
func (m *machine) wait() error {
	for d := range m.p.Devices {
		if err := m.rt.SynchronizeContext(m.on(d)); err != nil {
			return err
		}
	}
	return nil
}

// on makes a device's context current.
func (m *machine) on(device int) cudart.Context {
	if m.current != device {
		if err := m.rt.SetCurrent(m.contexts[device]); err != nil {
			panic(err) // it is live
		}
		m.current = device
	}
	return m.contexts[device]
}

// prepare makes what is there before the program starts.
func (m *machine) prepare() error {
	image := kernels(m)
	for d := range m.p.Devices {
		ctx, err := m.rt.RetainPrimary(d)
		if err != nil {
			return err
		}
		m.contexts = append(m.contexts, ctx)
		if err := m.load(d, image); err != nil {
			return err
		}
	}
	for _, s := range m.p.Streams {
		h, err := m.stream(s)
		if err != nil {
			return err
		}
		m.streams = append(m.streams, h)
	}
	for _, e := range m.p.Events {
		h, err := m.rt.CreateEvent(m.on(e.Device), false)
		if err != nil {
			return err
		}
		m.events = append(m.events, h)
	}
	m.memory = make([]uint64, len(m.p.Buffers))
	for i, b := range m.p.Buffers {
		if err := m.buffer(i, b); err != nil {
			return err
		}
	}
	return nil
}

// load makes a device's pool, that all devices reach, and loads the kernels.
func (m *machine) load(d int, image cudart.Image) error {
	ctx := m.on(d)
	pool, err := m.rt.CreatePool(ctx)
	if err != nil {
		return err
	}
	m.pools = append(m.pools, pool)
	for peer := range m.p.Devices {
		if peer != d {
			if err := m.rt.AllowPeer(ctx, pool, peer); err != nil {
				return err
			}
		}
	}
	module, err := m.rt.LoadModule(ctx, image)
	if err != nil {
		return err
	}
	functions := map[string]cudart.Function{}
	for name := range image.Go {
		if functions[name], _, err = m.rt.Function(ctx, module, name); err != nil {
			return err
		}
	}
	m.functions = append(m.functions, functions)
	return nil
}

func (m *machine) stream(s program.Stream) (h cudart.Stream, err error) {
	ctx := m.on(s.Device)
	switch {
	case s.Legacy:
		return m.streamsOf.LegacyStream(ctx), nil
	case s.Blocking:
		h, err = m.streamsOf.CreateBlockingStream(ctx)
	default:
		h, err = m.rt.CreateStream(ctx)
	}
	if err == nil && m.name != nil {
		m.name.NameStream(h, s.Name)
	}
	return h, err
}

// buffer allocates memory, unless a statement does, and writes it, so that no run
// begins with other bytes.
func (m *machine) buffer(i int, b program.Buffer) error {
	switch {
	case b.Host:
		p, err := m.rt.AllocHost(m.on(0), b.Bytes)
		if err != nil {
			return err
		}
		m.have(i, uint64(uintptr(p)))
		spread(mix(uint64(i)), m.bytes(program.Access{Buffer: i, Bytes: b.Bytes}))
		return nil
	case b.Alloc:
		return nil
	}
	ctx := m.on(b.Device)
	s, err := m.rt.CreateStream(ctx)
	if err != nil {
		return err
	}
	p, err := m.rt.Alloc(ctx, m.pools[b.Device], b.Bytes, s)
	if err != nil {
		return err
	}
	m.have(i, uint64(p))
	m.list.Reset()
	m.list.Fill(p, uint32(i), 1, min(b.Bytes, edge))
	if _, err := m.rt.Submit(ctx, s, m.list); err != nil {
		return err
	}
	return errors.Join(m.rt.SynchronizeStream(ctx, s), m.rt.DestroyStream(ctx, s))
}

// have notes where a buffer is.
func (m *machine) have(i int, at uint64) {
	m.memory[i] = at
	if m.name != nil {
		m.name.NameMemory(at, m.p.Buffers[i].Name)
	}
}

func (m *machine) address(a program.Access) uint64 { return m.memory[a.Buffer] + a.Offset }

// host is the address of pinned memory.
func (m *machine) host(a program.Access) unsafe.Pointer {
	p := uintptr(m.address(a))
	return *(*unsafe.Pointer)(unsafe.Pointer(&p)) // outside Go's heap: it does not move
}

// bytes is pinned memory.
func (m *machine) bytes(a program.Access) []byte {
	return unsafe.Slice((*byte)(m.host(a)), a.Bytes)
}

// What a statement writes depends on which it is, and on all that it has read. Of a
// long range only the two edges are read and written.
const edge = 4 << 10

// gather adds bytes to a hash.
func gather(h uint64, b []byte) uint64 {
	if len(b) > 2*edge {
		return gather(gather(h, b[:edge]), b[len(b)-edge:])
	}
	for _, c := range b {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return mix(h)
}

// mix is a number that looks like another one.
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// spread writes a hash all over a range.
func spread(h uint64, b []byte) {
	if len(b) > 2*edge {
		spread(h, b[:edge])
		b = b[len(b)-edge:]
	}
	for i := range b {
		b[i] = byte(mix(h+uint64(i/8)) >> (i % 8 * 8))
	}
}
