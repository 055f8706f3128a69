package sim

import (
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
)

// Harm is what a [LinkFault] does to a copy.
type Harm uint8

const (
	Drops    Harm = 1 + iota // the bytes do not arrive: the destination stays as it was
	Mirrors                  // they come from the destination's own side, at the source's offset; from the host, or where nothing is there, nothing arrives
	Shifts                   // they come from an eighth of the range further on, around its end
	Corrupts                 // about one in 4096 is wrong, and at least one, by the seed
	Hangs                    // the copy never ends, until the machine is lost or closed
)

// String is "drops", "mirrors", "shifts", "corrupts" or "hangs".
func (h Harm) String() string {
	if h < Drops || h > Hangs {
		return fmt.Sprintf("harm %d", uint8(h))
	}
	return [...]string{"drops", "mirrors", "shifts", "corrupts", "hangs"}[h-1]
}

// LinkFault is a link over which copies go wrong, in one direction. The driver says
// nothing of it: the copy completes, unless it hangs. Kernels that reach over the link
// are not touched.
type LinkFault struct {
	From, To int // devices, Host, or Any; of one device: its copies inside itself
	Does     Harm
	When     When // of the copies that come to run on the link, except those of no bytes
}

func (f LinkFault) check(devices int) error {
	if f.Does < Drops || f.Does > Hangs {
		return fmt.Errorf("it does nothing that is known")
	}
	if !f.When.valid() {
		return errBadWhen
	}
	if err := checkDevice(f.From, devices, Host, Any); err != nil {
		return err
	}
	return checkDevice(f.To, devices, Host, Any)
}

func (f LinkFault) about(from, to int) bool {
	return (f.From == Any || f.From == from) && (f.To == Any || f.To == to)
}

// linkOf is the link that a copy goes over; ok is false for what is no copy.
func linkOf(c *cudart.Command) (from, to int, ok bool) {
	if c.Op < cudart.OpCopyHtoD || c.Op > cudart.OpCopyPeer || c.Bytes == 0 {
		return 0, 0, false
	}
	from, to = Host, Host
	if c.Op != cudart.OpCopyHtoD {
		from = int(c.Src >> offsetBits & 0xff)
	}
	if c.Op != cudart.OpCopyDtoH {
		to = int(c.Dst >> offsetBits & 0xff)
	}
	return from, to, true
}

// carried is where the bytes of a copy come from that is about to run: src, unless a
// rule has it otherwise. What is dropped comes from dst itself.
func (r *simulator) carried(c *cudart.Command, dst, src []byte) []byte {
	f := r.faults.Load()
	if f == nil {
		return src
	}
	from, to, _ := linkOf(c)
	each(f, func(x *Rule, l LinkFault) {
		if l.Does == Hangs || !l.about(from, to) {
			return
		}
		n := x.acts(l.When)
		if n == 0 {
			return
		}
		switch l.Does {
		case Drops:
			src = dst
		case Mirrors:
			src = r.mirrored(to, c.Src, dst)
		case Shifts:
			src = shifted(src)
		case Corrupts:
			src = corrupted(src, mix(l.When.Seed, uint64(n)))
		}
	})
	return src
}

// mirrored is what is at the source's offset on the destination's own side.
func (r *simulator) mirrored(to int, src uint64, dst []byte) []byte {
	if to == Host || src>>56 != 1 {
		return dst
	}
	m := r.devices[to].memory
	at, b, _ := m.pin(m.base|src&(1<<offsetBits-1), uint64(len(dst)))
	if b == nil {
		return dst
	}
	defer at.release()
	return append([]byte(nil), b...)
}

// shifted is b from an eighth of its length on, and at least one byte.
func shifted(b []byte) []byte {
	k := max(len(b)/8, 1) % len(b)
	return append(append(make([]byte, 0, len(b)), b[k:]...), b[:k]...)
}

// corrupted is b with some bytes wrong.
func corrupted(b []byte, seed uint64) []byte {
	b = append([]byte(nil), b...)
	done := map[uint64]bool{}
	for k := range 1 + len(b)/4096 {
		x := mix(seed, uint64(k))
		at := x >> 8 % uint64(len(b))
		if !done[at] { // twice could be right again
			done[at] = true
			b[at] ^= byte(x) | 1
		}
	}
	return b
}
