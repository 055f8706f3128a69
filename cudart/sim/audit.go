package sim

import (
	"encoding/binary"
	"fmt"

	"github.com/gpuactor/gpuactor/cudart"
)

// AuditKernels is part of [cudart.KernelAuditor]. Under [Chaos] a kernel runs on
// copies, and what it left of them says whether it wrote what it only reads by its
// launch, and whether it overwrote all that it overwrites. What it reads of an Out is
// junk there, and shows in what comes of it. Other clocks see nothing.
func (r *simulator) AuditKernels(report func(cudart.Misdeclared)) { r.audit.Store(&report) }

// junkWord is what an Out holds before a kernel runs on its copy, at an offset.
func junkWord(at int) uint64 { return 0x9e3779b97f4a7c15 * uint64(at+1) }

// only calls do for each argument of an access whose memory no other argument names,
// and, where used, for which the kernel has asked, with its number and where its copy is.
func (l *track) only(access cudart.Access, used bool, do func(arg, from, to int)) {
	k := &l.launch
	for i := range l.cmd.Args() {
		a := l.cmd.Arg(i)
		if a.Access != access || a.Bytes == 0 || l.shared(i) {
			continue
		}
		for _, x := range k.lent {
			if a.Slot >= x.at && a.Slot-x.at < x.bytes && !x.missing && (x.used || !used) {
				from := x.own + int(a.Slot-x.at)
				do(i, from, from+int(a.Bytes))
			}
		}
	}
}

// shared reports whether another argument names some of the memory of argument i.
func (l *track) shared(i int) bool {
	a := l.cmd.Arg(i)
	for j := range l.cmd.Args() {
		b := l.cmd.Arg(j)
		if j != i && b.Access != cudart.Scalar && b.Bytes > 0 && a.Slot < b.Slot+b.Bytes && b.Slot < a.Slot+a.Bytes {
			return true
		}
	}
	return false
}

// spoil fills the copies of what a kernel overwrites with junk, before it runs.
func (l *track) spoil() {
	l.only(cudart.Out, false, func(_, from, to int) {
		for at := from; at+8 <= to; at += 8 {
			binary.LittleEndian.PutUint64(l.launch.after[at:], junkWord(at))
		}
	})
}

// compare looks at what a kernel left of its copies, and tells of what it did not
// declare. A kernel that asked for none of a memory did nothing with it.
func (l *track) compare(f *function) {
	report := l.stream.sim.audit.Load()
	if report == nil {
		return
	}
	k := &l.launch
	tell := func(arg int, access cudart.Access, text string, args ...any) {
		(*report)(cudart.Misdeclared{Stream: l.stream.handle, Kernel: f.name, Arg: arg, Access: access, Text: fmt.Sprintf(text, args...)})
	}
	l.only(cudart.In, true, func(arg, from, to int) {
		for at := from; at < to; at++ {
			if k.after[at] != k.before[at] {
				tell(arg, cudart.In, "writes byte %d of it", at-from)
				return
			}
		}
	})
	l.only(cudart.Out, true, func(arg, from, to int) {
		left := 0
		for at := from; at+8 <= to; at += 8 {
			if binary.LittleEndian.Uint64(k.after[at:]) == junkWord(at) {
				left += 8
			}
		}
		if left > 0 {
			tell(arg, cudart.Out, "leaves %d of %d bytes of it as they were", left, to-from)
		}
	})
}
