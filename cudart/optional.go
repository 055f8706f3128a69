package cudart

import "unsafe"

// What follows are interfaces that a [Runtime] may implement besides. Who needs one
// asks for it by a type assertion, once, when the runtime is opened.

// DefaultStreams has the streams that CUDA orders with each other without an event.
// The library never uses them; tests and checkers do, since other code of a process
// may.
type DefaultStreams interface {
	// CreateBlockingStream makes a stream that is ordered with the legacy default
	// stream of its context. [Runtime.DestroyStream] destroys it.
	CreateBlockingStream(ctx Context) (Stream, error)
	// LegacyStream is the legacy default stream of ctx: a command on it comes after
	// everything issued so far on the blocking streams of ctx, and everything issued
	// later on those comes after it. It is never destroyed. Zero where ctx is none.
	LegacyStream(ctx Context) Stream
}

// HostWatcher wants to know when the CPU touches pinned memory.
type HostWatcher interface {
	// HostAccess says that the CPU reads the memory, or writes it, from now on, until
	// the next command that uses it is issued. Any thread may call it.
	HostAccess(p unsafe.Pointer, bytes uint64, write bool)
}

// Namer wants names for what it sees as handles, for messages.
type Namer interface {
	// NameStream says what the stream is called: after its actor.
	NameStream(s Stream, name string)
	// NameCommands says what commands of the list are called that is submitted to s
	// next, in order of their indices. The slice is the caller's again when it returns.
	// Who calls it has seen to it that nobody else submits to s in between.
	NameCommands(s Stream, names []CommandName)
}

// CommandName is what is known of one command of a list beyond its words.
type CommandName struct {
	Index int    // in the list
	Name  string // the kernel's, "upload"; empty: as the command's kind
	Site  string // where it was issued, "file:line"; empty where it is not known
}

// KernelAuditor runs kernels where it sees what they touch, and compares that with
// what their launches declare.
type KernelAuditor interface {
	// AuditKernels has report told of each difference, from the goroutine that runs the
	// kernel, which may be in a call of the runtime: it must not call the runtime. It is
	// called before anything is launched.
	AuditKernels(report func(Misdeclared))
}

// Misdeclared is a kernel that touches an argument's memory otherwise than its launch
// declares.
type Misdeclared struct {
	Stream Stream
	Kernel string
	Arg    int    // from 0
	Access Access // as declared
	Text   string // what it did: "writes it"
}
