package order

// Kind is what is wrong.
type Kind uint8

// The kinds of report.
const (
	// Race: two accesses to the same bytes, one of them a write, neither ordered
	// before the other. First was issued first.
	Race Kind = 1 + iota
	// UseAfterFree: Second is ordered after First, which freed the buffer.
	UseAfterFree
	// UnrecordedWait: First waits for, or asks for, an event never recorded.
	UnrecordedWait
	// WrongContext: First uses a handle of another context than its stream's.
	WrongContext
	// BadHandle: First uses an event that has been destroyed.
	BadHandle
)

var kindNames = [...]string{"", "race", "use-after-free", "unrecorded-wait", "wrong-context", "bad-handle"}

// String is the kind's name in stream programs: "use-after-free".
func (k Kind) String() string { return kindNames[k] }

// Report is one thing that is wrong.
type Report struct {
	Kind    Kind
	First   *Command
	Second  *Command // nil where one command alone is wrong
	Buffer  *Buffer  // nil where it is not about memory
	Off     uint64   // of the bytes that both touch, in the buffer
	Bytes   uint64
	FirstA  Act    // what First does to them
	SecondA Act    // what Second does to them
	Event   *Event // nil where it is not about one
}

// Act is what a command does to bytes.
type Act uint8

// What commands do. All but Read are writes where races are concerned.
const (
	Read Act = iota
	Write
	Allocate
	Free
)

// Note is what is known of a command besides what it does.
type Note struct {
	Op   string // "kernel", "peer copy"
	Name string // the kernel's; may be empty
	Site string // where it was issued; may be empty
}

// Command is something that was issued, on a stream or by the host.
type Command struct {
	Note
	Stream *Stream // nil for the host
	N      uint64  // its number in the stream; 0 for the host, and for one that is wrong by itself
	Seq    uint64  // its number among all commands with accesses, from 1

	paired uint64 // Seq of the command that it was reported with last (O3)
}

// tick is the command's place in the order.
func (c *Command) tick() tick { return tick{c.Stream, c.N} }
