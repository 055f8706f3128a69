package cudart

import (
	"fmt"
	"unsafe"
)

// Op is the kind of a command.
type Op uint16

// The commands. Launch, the copies and Fill are effects: they touch memory that
// a user named. Record, Wait and Free are bookkeeping.
const (
	OpLaunch   Op = 1 + iota // a kernel
	OpCopyHtoD               // pinned host memory to device
	OpCopyDtoH               // device to pinned host memory
	OpCopyDtoD               // inside one device
	OpCopyPeer               // between memories of two contexts
	OpFill                   // memory of a device
	OpRecord                 // an event
	OpWait                   // for an event
	OpFree                   // memory of a pool
)

var opNames = [...]string{"", "launch", "copy to device", "copy to host", "copy", "peer copy", "fill", "record", "wait", "free"}

// String is the command's name in messages: "launch", "peer copy".
func (o Op) String() string {
	if int(o) < len(opNames) && o > 0 {
		return opNames[o]
	}
	return fmt.Sprintf("op %d", uint16(o))
}

// Effect reports whether the command touches a user's memory, and so is skipped
// behind a refused one.
func (o Op) Effect() bool { return o >= OpLaunch && o <= OpFill }

// Access says what a kernel does to an argument's memory.
type Access uint8

const (
	Scalar Access = iota // not memory
	In                   // read only
	Out                  // written in full, never read
	InOut                // read, or written in part
)

// String is "scalar", "in", "out" or "inout".
func (a Access) String() string { return [...]string{"scalar", "in", "out", "inout"}[a&3] }

// Writes reports whether memory may be changed.
func (a Access) Writes() bool { return a == Out || a == InOut }

// Arg is one kernel argument: the 8-byte slot that the kernel's parameter is
// read from (little endian, from its first byte), and what it means.
type Arg struct {
	Slot   uint64 // a scalar's bits, or an address
	Bytes  uint64 // of the memory behind an address, for In, Out and InOut
	Access Access // what the kernel does to that memory
}

// A command is a run of 8-byte words. The first holds the op in bits 0–15, the
// number of words in bits 16–31, and an operand in bits 32–63. What follows:
//
//	launch   function, grid x|y<<32, grid z|block x<<32, block y|z<<32,
//	         shared bytes, executable graph and its node or 0 and 0, then
//	         (operand: n) n slots, n addresses of the slots, n descriptions
//	         (access in bits 62–63, bytes below)
//	copy     dst, src, bytes; a peer copy also dst context, src context
//	fill     dst, pattern, elements (operand: width of an element, 1, 2 or 4)
//	record   event
//	wait     event
//	free     address
//
// The trampoline in C and the loop over purego walk the same words; the layout
// is private to this module and may change with it.
const (
	launchHead = 8
	copyWords  = 4
	peerWords  = 6
	fillWords  = 4
	oneWords   = 2

	// MaxArgs is how many arguments a kernel may take here.
	MaxArgs = 64

	// reserve is kept free for one record, so that whoever finds a list full can
	// still end it with the event that others wait for.
	reserve = oneWords
)

const bytesMask = 1<<62 - 1

// List is a list of commands for one stream, in memory outside Go's heap. Its
// capacity is fixed; a full list is submitted, and used again. It belongs to one
// goroutine at a time.
type List struct {
	words []uint64
	used  int
	count int
}

// NewList makes a list with room for the given number of bytes, rounded to
// words. Close gives the memory back.
func NewList(bytes int) (*List, error) {
	w, err := newArena(max(bytes/8, 2*(launchHead+3*MaxArgs)+reserve))
	if err != nil {
		return nil, err
	}
	return &List{words: w}, nil
}

// Close frees the list's memory. It must not be in use by a Submit.
func (l *List) Close() {
	if l.words != nil {
		freeArena(l.words)
		l.words, l.used, l.count = nil, 0, 0
	}
}

// Len is the number of commands.
func (l *List) Len() int { return l.count }

// Reset empties the list.
func (l *List) Reset() { l.used, l.count = 0, 0 }

// Words is the encoded list; it is overwritten by the next use.
func (l *List) Words() []uint64 { return l.words[:l.used] }

// add reserves n words, or returns nil where they do not fit.
func (l *List) add(op Op, n int, operand uint32) []uint64 {
	limit := len(l.words)
	if op != OpRecord {
		limit -= reserve
	}
	if l.used+n > limit {
		return nil
	}
	w := l.words[l.used : l.used+n : l.used+n]
	w[0] = uint64(op) | uint64(n)<<16 | uint64(operand)<<32
	l.used += n
	l.count++
	return w
}

// Launch appends a kernel launch; shared is in bytes. Like all of these it
// reports whether there was room. More than MaxArgs arguments panic.
func (l *List) Launch(f Function, grid, block Dim3, shared uint32, args ...Arg) bool {
	return l.LaunchBy(LaunchGraph{}, f, grid, block, shared, args...)
}

// LaunchBy is Launch by an executable graph of f: the same in all that a program can
// see. Launches by one graph run one after the other, so it is for one stream. What
// the graph refuses is launched as ever; zero is no graph.
func (l *List) LaunchBy(g LaunchGraph, f Function, grid, block Dim3, shared uint32, args ...Arg) bool {
	n := len(args)
	if n > MaxArgs {
		panic("cudart: a launch with more than MaxArgs arguments")
	}
	w := l.add(OpLaunch, launchHead+3*n, uint32(n))
	if w == nil {
		return false
	}
	w[1] = uint64(f)
	w[2] = uint64(grid.X) | uint64(grid.Y)<<32
	w[3] = uint64(grid.Z) | uint64(block.X)<<32
	w[4] = uint64(block.Y) | uint64(block.Z)<<32
	w[5] = uint64(shared)
	w[6], w[7] = uint64(g.Exec), uint64(g.Node)
	slots, ptrs, desc := w[launchHead:launchHead+n], w[launchHead+n:launchHead+2*n], w[launchHead+2*n:]
	for i := range args {
		slots[i] = args[i].Slot
		ptrs[i] = uint64(uintptr(unsafe.Pointer(&slots[i])))
		desc[i] = args[i].Bytes&bytesMask | uint64(args[i].Access)<<62
	}
	return true
}

// CopyHtoD appends a copy from pinned host memory to the device.
func (l *List) CopyHtoD(dst DevicePtr, src unsafe.Pointer, bytes uint64) bool {
	return l.copy(OpCopyHtoD, uint64(dst), uint64(uintptr(src)), bytes)
}

// CopyDtoH appends a copy from the device to pinned host memory.
func (l *List) CopyDtoH(dst unsafe.Pointer, src DevicePtr, bytes uint64) bool {
	return l.copy(OpCopyDtoH, uint64(uintptr(dst)), uint64(src), bytes)
}

// CopyDtoD appends a copy inside one device.
func (l *List) CopyDtoD(dst, src DevicePtr, bytes uint64) bool {
	return l.copy(OpCopyDtoD, uint64(dst), uint64(src), bytes)
}

func (l *List) copy(op Op, dst, src, bytes uint64) bool {
	w := l.add(op, copyWords, 0)
	if w == nil {
		return false
	}
	w[1], w[2], w[3] = dst, src, bytes
	return true
}

// CopyPeer appends a copy between memories of two contexts. It is ordered in
// the stream that the list is given to, and in no other.
func (l *List) CopyPeer(dst DevicePtr, dstCtx Context, src DevicePtr, srcCtx Context, bytes uint64) bool {
	w := l.add(OpCopyPeer, peerWords, 0)
	if w == nil {
		return false
	}
	w[1], w[2], w[3], w[4], w[5] = uint64(dst), uint64(src), bytes, uint64(dstCtx), uint64(srcCtx)
	return true
}

// Fill appends a fill of count elements of width bytes (1, 2 or 4) with the low
// bytes of pattern.
func (l *List) Fill(dst DevicePtr, pattern uint32, width int, count uint64) bool {
	w := l.add(OpFill, fillWords, uint32(width))
	if w == nil {
		return false
	}
	w[1], w[2], w[3] = uint64(dst), uint64(pattern), count
	return true
}

// Record appends an event record: the event captures everything before it. There
// is room for one even in a list that is full for everything else.
func (l *List) Record(e Event) bool { return l.one(OpRecord, uint64(e)) }

// Wait appends a wait for what the event's latest record, at the moment of the
// submission, captured. On an event never recorded it waits for nothing.
func (l *List) Wait(e Event) bool { return l.one(OpWait, uint64(e)) }

// Free appends a stream-ordered free of memory from [Runtime.Alloc].
func (l *List) Free(p DevicePtr) bool { return l.one(OpFree, uint64(p)) }

func (l *List) one(op Op, v uint64) bool {
	w := l.add(op, oneWords, 0)
	if w == nil {
		return false
	}
	w[1] = v
	return true
}

// Command is one command, decoded. Its slices point into the words.
type Command struct {
	Op Op // which of the fields below have a meaning

	// Launch.
	Function    Function
	Grid, Block Dim3        // in blocks, in threads
	Shared      uint32      // bytes
	By          LaunchGraph // without what it was made from; zero for none
	slots, desc []uint64

	// Copies and fill: addresses, of the host where the op says so.
	Dst, Src       uint64
	Bytes          uint64  // all that is copied or filled
	DstCtx, SrcCtx Context // of a peer copy
	Pattern        uint32  // of a fill; its low Width bytes count
	Width          int     // bytes of a fill's element: 1, 2 or 4

	Event Event // record, wait
}

// Args is the number of a launch's arguments.
func (c *Command) Args() int { return len(c.slots) }

// Arg is a launch's ith argument.
func (c *Command) Arg(i int) Arg {
	return Arg{Slot: c.slots[i], Bytes: c.desc[i] & bytesMask, Access: Access(c.desc[i] >> 62)}
}

// Decode decodes the command that words begins with, and returns the words
// behind it. It is the inverse of the methods of [List].
func Decode(words []uint64) (c Command, rest []uint64) {
	n := int(words[0] >> 16 & 0xffff)
	operand := uint32(words[0] >> 32)
	w, rest := words[:n], words[n:]
	c.Op = Op(words[0])
	switch c.Op {
	case OpLaunch:
		c.Function = Function(w[1])
		c.Grid = Dim3{uint32(w[2]), uint32(w[2] >> 32), uint32(w[3])}
		c.Block = Dim3{uint32(w[3] >> 32), uint32(w[4]), uint32(w[4] >> 32)}
		c.Shared = uint32(w[5])
		c.By = LaunchGraph{Exec: uintptr(w[6]), Node: uintptr(w[7])}
		k := int(operand)
		c.slots, c.desc = w[launchHead:launchHead+k], w[launchHead+2*k:]
	case OpCopyPeer:
		c.DstCtx, c.SrcCtx = Context(w[4]), Context(w[5])
		fallthrough
	case OpCopyHtoD, OpCopyDtoH, OpCopyDtoD:
		c.Dst, c.Src, c.Bytes = w[1], w[2], w[3]
	case OpFill:
		c.Dst, c.Pattern, c.Width = w[1], uint32(w[2]), int(operand)
		c.Bytes = w[3] * uint64(operand)
	case OpRecord, OpWait:
		c.Event = Event(w[1])
	case OpFree:
		c.Dst = w[1]
	default:
		panic(fmt.Sprintf("cudart: not a command: %v", c.Op))
	}
	return c, rest
}
