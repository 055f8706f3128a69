package device

import "github.com/gpuactor/gpuactor/cudart"

// Block is device memory of one size class.
type Block struct {
	d       *Device
	ptr     cudart.DevicePtr
	bytes   uint64
	class   int
	last    Point // of its last use, once released
	charged bool

	next, prev   *Block // among the released ones of a stream, oldest first
	below, above *Block // the same, of one class; below also links clean ones
	in           *streamBlocks
}

// Ptr is the block's address.
func (b *Block) Ptr() cudart.DevicePtr { return b.ptr }

// Device is whose memory it is.
func (b *Block) Device() *Device { return b.d }

// Ready is the point before which the block may not be used by a stream other
// than the one it was allocated for: the zero Point for most.
func (b *Block) Ready() Point { return b.last }

// streamBlocks are the blocks of one device released on one stream.
type streamBlocks struct {
	s              *Stream
	oldest, newest *Block
	classes        []classTop
	waiting        bool // in the memory's list of holders
}

type classTop struct {
	class int
	top   *Block
	count int
}

// take is the newest block of a class, whose last use is in the order of the
// stream that takes it.
func (l *streamBlocks) take(class int) *Block {
	for i := range l.classes {
		if b := l.classes[i].top; l.classes[i].class == class && b != nil {
			l.unlink(b)
			l.s.released.Add(-weight(b.bytes))
			return b
		}
	}
	return nil
}

// Release ends the use of a block at p. It may come from any goroutine.
func (b *Block) Release(p Point) {
	m := &b.d.mem
	m.mu.Lock()
	defer m.mu.Unlock()
	b.last = p
	if p.Known() {
		m.settled(b)
		return
	}
	l := m.of(p.s)
	l.link(b)
	p.s.released.Add(weight(b.bytes))
	if !l.waiting {
		l.waiting = true
		m.held = append(m.held, l)
	}
}

func (l *streamBlocks) link(b *Block) {
	b.in, b.prev, b.next = l, l.newest, nil
	if l.newest != nil {
		l.newest.next = b
	} else {
		l.oldest = b
	}
	l.newest = b
	for i := range l.classes {
		if c := &l.classes[i]; c.class == b.class {
			b.below, b.above = c.top, nil
			if c.top != nil {
				c.top.above = b
			}
			c.top = b
			c.count++
			return
		}
	}
	b.below, b.above = nil, nil
	l.classes = append(l.classes, classTop{b.class, b, 1})
}

func (l *streamBlocks) unlink(b *Block) {
	if b.prev != nil {
		b.prev.next = b.next
	} else {
		l.oldest = b.next
	}
	if b.next != nil {
		b.next.prev = b.prev
	} else {
		l.newest = b.prev
	}
	if b.below != nil {
		b.below.above = b.above
	}
	for i := range l.classes {
		if c := &l.classes[i]; c.class == b.class {
			c.count--
			if c.top == b {
				c.top = b.below
			} else {
				b.above.below = b.below
			}
			break
		}
	}
	b.next, b.prev, b.below, b.above, b.in = nil, nil, nil, nil, nil
}
