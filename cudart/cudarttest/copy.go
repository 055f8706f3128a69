package cudarttest

import (
	"bytes"
	"fmt"
	"unsafe"
)

var copyChecks = []check{
	{"goes there and back, in every size at every offset", copySizes},
	{"of nothing is nothing", copyNothing},
	{"fills with 1, 2 and 4 bytes", copyFills},
	{"goes both ways at once", copyBothWays},
}

var (
	copyLengths = []int{1, 3, 255, 4097, 1<<20 + 1}
	copyOffsets = [][2]int{{0, 0}, {1, 0}, {0, 3}, {5, 7}} // of the source, of the destination
)

// margin is checked in front of and behind what a copy writes.
const margin = 16

// pattern fills b so that a shift, a gap, or another seed shows.
func pattern(b []byte, seed int) {
	x := uint32(seed)*2654435761 + 12345
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
}

// landed states that n bytes of src, from srcOff, are in dst at dstOff+margin,
// and that all around them dst is guard.
func (f *fixture) landed(dst []byte, dstOff int, src []byte, srcOff, n int, guard byte, what string) {
	f.Helper()
	at := margin + dstOff
	front, middle, back := dst[:at], dst[at:at+n], dst[at+n:]
	if !bytes.Equal(middle, src[srcOff:srcOff+n]) {
		f.Fatalf("%s: other bytes arrived", what)
	}
	if bytes.Count(front, []byte{guard}) != len(front) {
		f.Fatalf("%s: written in front of its begin", what)
	}
	if bytes.Count(back, []byte{guard}) != len(back) {
		f.Fatalf("%s: written behind its end", what)
	}
}

func copySizes(f *fixture) {
	const most, guard = 1<<20 + 64, 0xEE
	q := f.queue(f.main)
	a, b := q.alloc(most), q.alloc(most)
	src, up, across, down := f.host(most), f.host(most), f.host(most), f.host(most)
	pattern(src, 1)
	for _, n := range copyLengths {
		for _, off := range copyOffsets {
			from, to := off[0], margin+off[1]
			size := uint64(n + 2*margin + 8)
			for i := range size {
				down[i] = guard
			}
			q.append(q.list.Fill(a, guard, 1, size))
			q.append(q.list.Fill(b, guard, 1, size))
			q.append(q.list.CopyHtoD(devicePtr(a, to), unsafe.Pointer(&src[from]), uint64(n)))
			q.append(q.list.CopyDtoH(hostOf(up), a, size))
			q.append(q.list.CopyDtoD(devicePtr(b, to), devicePtr(a, to), uint64(n)))
			q.append(q.list.CopyDtoH(hostOf(across), b, size))
			q.append(q.list.CopyDtoH(unsafe.Pointer(&down[to]), devicePtr(b, to), uint64(n)))
			q.submit()
			q.sync()
			what := fmt.Sprintf("%d bytes from %d to %d", n, from, to)
			f.landed(up[:size], off[1], src, from, n, guard, "to the device, "+what)
			f.landed(across[:size], off[1], src, from, n, guard, "on the device, "+what)
			f.landed(down[:size], off[1], src, from, n, guard, "to the host, "+what)
		}
	}
}

func copyNothing(f *fixture) {
	q, host := f.queue(f.main), f.words(2)
	p := q.alloc(8)
	q.fill32(p, 1, 2)
	q.append(q.list.CopyHtoD(p, unsafe.Pointer(&host[0]), 0))
	q.append(q.list.CopyDtoD(p, p+4, 0))
	q.append(q.list.CopyDtoH(unsafe.Pointer(&host[0]), p, 0))
	q.append(q.list.CopyPeer(p, f.main.ctx, p+4, f.main.ctx, 0))
	for _, width := range []int{1, 2, 4} {
		q.append(q.list.Fill(p, 9, width, 0))
	}
	q.submit()
	q.sync()
	f.all(host, 0)
	q.toHost(host, p)
	q.submit()
	q.sync()
	f.all(host, 1)
}

func copyFills(f *fixture) {
	const value = 0xA1B2C3D4
	q := f.queue(f.main)
	p, host := q.alloc(1<<16), f.host(1<<16)
	for _, width := range []int{1, 2, 4} {
		element := []byte{0xD4, 0xC3, 0xB2, 0xA1}[:width]
		for _, count := range []int{1, 3, 255, 4097} {
			for _, skip := range []int{0, 1, 5} { // in elements: a fill is aligned to its width
				n, at := width*count, margin+skip*width
				size := uint64(at + n + margin)
				q.append(q.list.Fill(p, 0, 1, size))
				q.append(q.list.Fill(devicePtr(p, at), value, width, uint64(count)))
				q.append(q.list.CopyDtoH(hostOf(host), p, size))
				q.submit()
				q.sync()
				f.landed(host[:size], skip*width, bytes.Repeat(element, count), 0, n, 0,
					fmt.Sprintf("%d elements of %d bytes at %d", count, width, at))
			}
		}
	}
}

// copyBothWays keeps both directions busy with transfers that check each other.
func copyBothWays(f *fixture) {
	const n, rounds = 1 << 18, 8
	up, down := f.queue(f.main), f.queue(f.main)
	a, b := up.alloc(n), down.alloc(n)
	src, dst, final := f.host(n), f.host(n), f.host(n)
	pattern(src, 2)
	down.append(down.list.Fill(b, 0x55, 1, n))
	for range rounds {
		up.append(up.list.CopyHtoD(a, hostOf(src), n))
		down.append(down.list.CopyDtoH(hostOf(dst), b, n))
	}
	up.append(up.list.CopyDtoH(hostOf(final), a, n))
	up.submit()
	down.submit()
	up.sync()
	down.sync()
	if !bytes.Equal(final, src) || bytes.Count(dst, []byte{0x55}) != n {
		f.Error("the bytes are not the ones that were sent")
	}
}
