package sim

// PeerFault is a claim that is false: CanAccessPeer says that kernels of Device reach
// memory of Peer, and EnablePeer and AllowPeer refuse it. For a claim whose bytes are
// wrong there is [LinkFault].
type PeerFault struct{ Device, Peer int } // either may be Any

func (f PeerFault) check(devices int) error {
	if err := checkDevice(f.Device, devices, Any); err != nil {
		return err
	}
	return checkDevice(f.Peer, devices, Any)
}

func (f PeerFault) about(device, peer int) bool {
	return device != peer && (f.Device == Any || f.Device == device) && (f.Peer == Any || f.Peer == peer)
}

// lies reports whether a rule makes a false claim of a pair. What it acts on is a call
// that is answered wrongly: the claim, or the refusal.
func (r *simulator) lies(device, peer int) (lies bool) {
	if f := r.faults.Load(); f != nil {
		each(f, func(x *Rule, p PeerFault) {
			lies = p.about(device, peer) && x.acts(When{}) > 0 || lies
		})
	}
	return lies
}
