package main

import (
	"errors"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"
)

// issue does one statement. A handle that is refused is what the program is about, and
// no error here.
func (m *machine) issue(s *program.Statement) error {
	switch s.Op {
	case program.SyncStream:
		d := m.p.Streams[s.Stream].Device
		return m.rt.SynchronizeStream(m.on(d), m.streams[s.Stream])
	case program.SyncDevice:
		return m.rt.SynchronizeContext(m.on(s.Device))
	case program.SyncEvent, program.Query:
		return handled(m.query(m.events[s.Event]))
	case program.Destroy:
		return handled(m.rt.DestroyEvent(m.on(m.p.Events[s.Event].Device), m.events[s.Event]))
	case program.Read, program.Write:
		m.touch(s)
		return nil
	case program.Alloc:
		return m.alloc(s)
	}
	m.list.Reset()
	m.command(s)
	d := m.p.Streams[s.Stream].Device
	_, err := m.rt.Submit(m.on(d), m.streams[s.Stream], m.list)
	switch {
	case s.Op == program.Record || s.Op == program.Wait:
		return handled(err)
	case err == nil && s.Op == program.Memcpy && m.p.HostWaits(s):
		// The copy comes after all that the blocking streams were given, so that to
		// wait for it is to wait for what the legacy stream stands for.
		return m.rt.SynchronizeStream(m.on(d), m.streams[s.Stream])
	}
	return err
}

// handled leaves out the refusal of a handle.
func handled(err error) error {
	if errors.Is(err, cudart.ErrInvalidHandle) {
		return nil
	}
	return err
}

// query asks until the event is done. There is no other way to wait for one.
func (m *machine) query(e cudart.Event) error {
	for {
		if done, err := m.rt.QueryEvent(e); done || err != nil {
			return err
		}
	}
}

func (m *machine) touch(s *program.Statement) {
	a := s.Access[0]
	if a.Bytes == 0 {
		return
	}
	if m.touched != nil {
		m.touched(m.host(a), a.Bytes, a.Write)
	}
	if a.Write {
		spread(mix(m.id()), m.bytes(a))
		return
	}
	m.saw[m.at] = gather(0, m.bytes(a))
}

// id is a number of the statement's own, apart from those of buffers.
func (m *machine) id() uint64 { return uint64(len(m.p.Buffers) + m.at) }

func (m *machine) alloc(s *program.Statement) error {
	a := s.Access[0]
	d := m.p.Buffers[a.Buffer].Device
	p, err := m.rt.Alloc(m.on(d), m.pools[d], a.Bytes, m.streams[s.Stream])
	if err != nil {
		return err
	}
	m.have(a.Buffer, uint64(p))
	return nil
}

// command puts a statement's command into the list.
func (m *machine) command(s *program.Statement) {
	switch s.Op {
	case program.Record:
		m.list.Record(m.events[s.Event])
	case program.Wait:
		m.list.Wait(m.events[s.Event])
	case program.Free:
		m.list.Free(cudart.DevicePtr(m.memory[s.Access[0].Buffer]))
	case program.Kernel:
		m.kernel(m.p.Streams[s.Stream].Device, touchName(len(s.Access)), s.Access...)
	case program.Fill:
		a := s.Access[0]
		if m.p.Buffers[a.Buffer].Device != m.p.Streams[s.Stream].Device {
			m.kernel(m.p.Streams[s.Stream].Device, touchName(1), a) // the simulator's fills are of the stream's device
			return
		}
		m.list.Fill(cudart.DevicePtr(m.address(a)), uint32(mix(m.id())), 1, a.Bytes)
	default:
		m.copy(s)
	}
}

// copy is a copy of the kind that its ends ask for; where the runtime has none, because
// it is between the host and another device than the stream's, a kernel does it.
func (m *machine) copy(s *program.Statement) {
	to, from := s.Access[0], s.Access[1]
	dst, src := m.p.Buffers[to.Buffer], m.p.Buffers[from.Buffer]
	here := m.p.Streams[s.Stream].Device
	switch {
	case !dst.Host && !src.Host && dst.Device == here && src.Device == here:
		m.list.CopyDtoD(cudart.DevicePtr(m.address(to)), cudart.DevicePtr(m.address(from)), to.Bytes)
	case !dst.Host && !src.Host:
		m.list.CopyPeer(cudart.DevicePtr(m.address(to)), m.contexts[dst.Device],
			cudart.DevicePtr(m.address(from)), m.contexts[src.Device], to.Bytes)
	case src.Host && !dst.Host && dst.Device == here:
		m.list.CopyHtoD(cudart.DevicePtr(m.address(to)), m.host(from), to.Bytes)
	case dst.Host && !src.Host && src.Device == here:
		m.list.CopyDtoH(m.host(to), cudart.DevicePtr(m.address(from)), to.Bytes)
	default:
		m.kernel(here, moveName, to, from)
	}
}

// kernel launches a kernel whose arguments declare what is touched.
func (m *machine) kernel(device int, name string, touches ...program.Access) {
	var args []cudart.Arg
	var writes uint64
	for i, a := range touches {
		access := cudart.In
		if a.Write {
			access = cudart.InOut
			writes |= 1 << i
		}
		args = append(args, cudart.Arg{Slot: m.address(a), Bytes: a.Bytes, Access: access})
	}
	args = append(args, cudart.Arg{Slot: m.id()}, cudart.Arg{Slot: writes})
	one := cudart.Dim3{X: 1, Y: 1, Z: 1}
	if !m.list.Launch(m.functions[device][name], one, one, 0, args...) {
		panic("a list without room for one launch of " + name)
	}
}
