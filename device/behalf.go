package device

import (
	"errors"

	"github.com/gpuactor/gpuactor/cudart"
)

// recordHere records an event behind everything submitted, from whatever thread,
// under mu. It captures more than was asked for where the owner has gone on in
// the meantime; that is why senders record for themselves where they expect
// another stream to wait.
func (s *Stream) recordHere(cur *Device) error {
	if s.dead {
		return nil // see Retire: a mark stands behind everything, or it is complete
	}
	record := func() error {
		if err := s.needSide(); err != nil {
			return err
		}
		m, err := s.takeMark()
		if err != nil {
			return &SubmitError{Stream: s.name, Op: cudart.OpRecord.String(), Err: err}
		}
		_, _, err = s.submit(s.side, m)
		return err
	}
	return s.asOwner(cur, record)
}

// asOwner runs f with the context of s current, on a thread where that of cur is.
func (s *Stream) asOwner(cur *Device, f func() error) error {
	switch {
	case cur == nil:
		return s.d.Do(f)
	case cur.ctx == s.d.ctx:
		return f()
	}
	if err := s.d.Bind(); err != nil {
		return err
	}
	return errors.Join(f(), cur.Bind())
}

// PeerCopy is a copy between the memories of two devices.
type PeerCopy struct {
	Dst, Src             cudart.DevicePtr // to where, from where
	DstDevice, SrcDevice *Device          // whose memory these are
	Bytes                uint64           // how much
	After                [2]Point         // what the copy comes after; zero Points are nothing
	Why                  [2]string        // for traces, beside After

	// Began and Ended, where they are not zero, are events with timing of the
	// source's context, recorded right before the copy, behind what it waits
	// for, and right behind it.
	Began, Ended cudart.Event
}

// CopyPeer submits a copy on s, on its owner's behalf: the waits that it needs,
// the copy, and a record, as one submission. It comes after what s was given so
// far; what the owner has issued and not submitted comes after it. Any goroutine
// may call it; cur is the device whose context is current on the caller's thread.
// The Point that comes back is the copy's end.
func (s *Stream) CopyPeer(cur *Device, c PeerCopy) (Point, error) {
	// I7: marks of other streams are pinned before s is locked; no stream is ever
	// locked while another one is.
	var pins [2]*mark
	defer func() {
		for _, m := range pins {
			if m != nil {
				m.pins.Add(-1)
			}
		}
	}()
	for i, p := range c.After {
		if p.s == nil || p.s == s || p.Known() {
			continue
		}
		m, err := p.s.pin(p.n, cur)
		if err != nil {
			return Point{}, err
		}
		pins[i] = m
	}
	var end Point
	submit := func() (err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		end, err = s.copyPeer(c, pins)
		return err
	}
	return end, s.asOwner(cur, submit)
}

// copyPeer is CopyPeer with the marks to wait for, under mu.
func (s *Stream) copyPeer(c PeerCopy, after [2]*mark) (Point, error) {
	if s.dead {
		return Point{}, &SubmitError{Stream: s.name, Op: cudart.OpCopyPeer.String(), Err: ErrRetired}
	}
	if err := s.needSide(); err != nil {
		return Point{}, err
	}
	m, err := s.takeMark() // first: a copy whose end cannot be shown must not begin
	if err != nil {
		return Point{}, &SubmitError{Stream: s.name, Op: cudart.OpCopyPeer.String(), Err: err}
	}
	n := s.given.Load() + 1
	for i, m := range after {
		if m != nil {
			s.side.Wait(m.event)
			if s.d.trace != nil {
				s.d.trace.Wait(s, n, c.After[i], c.Why[i])
			}
		}
	}
	if c.Began != 0 {
		s.side.Record(c.Began)
	}
	copied := s.side.Len()
	s.side.CopyPeer(c.Dst, c.DstDevice.ctx, c.Src, c.SrcDevice.ctx, c.Bytes)
	if c.Ended != 0 {
		s.side.Record(c.Ended)
	}
	if s.d.trace != nil {
		s.d.trace.Command(s, n, cudart.OpCopyPeer, cudart.OpCopyPeer.String())
	}
	s.d.tells.command(s.h, copied, cudart.OpCopyPeer.String())
	end, refused, err := s.submit(s.side, m)
	if err != nil && refused > copied {
		return end, nil // the copy is on its way; whoever waits for it has an event recorded
	}
	return end, err
}

// needSide makes the list for submissions on the owner's behalf, under mu.
func (s *Stream) needSide() error {
	if s.side != nil {
		return nil
	}
	side, err := cudart.NewList(0)
	s.side = side
	return err
}
