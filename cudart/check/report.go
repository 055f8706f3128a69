package check

import (
	"fmt"
	"strings"

	"github.com/gpuactor/gpuactor/cudart/check/internal/order"
)

// Kind is what is wrong.
type Kind string

// The kinds of report.
const (
	// Race: two accesses to the same bytes, one of them a write, and neither is
	// ordered before the other. First was issued first.
	Race Kind = "race"
	// UseAfterFree: Second uses, or frees, memory that First has freed before it.
	UseAfterFree Kind = "use-after-free"
	// UnrecordedWait: First waits for, or asks for, an event that was never
	// recorded, which returns at once.
	UnrecordedWait Kind = "unrecorded-wait"
	// WrongContext: First uses a handle of another context than its stream's.
	WrongContext Kind = "wrong-context"
	// BadHandle: First uses an event that has been destroyed.
	BadHandle Kind = "bad-handle"
	// BadKernel: First, a kernel, touched an argument's memory otherwise than its launch
	// declares. Only a runtime that is a [cudart.KernelAuditor] sees that: the simulator,
	// under its clock of chaos.
	BadKernel Kind = "bad-kernel"
)

// Report is one thing that is wrong. It is an error.
type Report struct {
	Kind   Kind     `json:"kind"`
	First  Command  `json:"first"`
	Second *Command `json:"second,omitempty"` // nil where First alone is wrong
	Memory *Range   `json:"memory,omitempty"` // nil where it is not about memory
	Fix    string   `json:"fix"`              // what would make it right: the missing edge
}

// Command is something that was issued, on a stream or by the host.
type Command struct {
	Op     string `json:"op"`               // "launch", "peer copy", "host read"
	Name   string `json:"name,omitempty"`   // the kernel's
	Does   string `json:"does,omitempty"`   // "reads", "writes", "allocates" or "frees" the range
	Stream string `json:"stream,omitempty"` // its name, which is its actor's; empty for the host
	On     string `json:"on,omitempty"`     // the stream's context: "device 0"
	Number uint64 `json:"number,omitempty"` // among the stream's commands, from 1; 0 where First alone is wrong
	Site   string `json:"site,omitempty"`   // where it was issued, where that is known
}

// Range is the bytes that both commands touch.
type Range struct {
	Name  string `json:"name"`  // the memory's
	Size  uint64 `json:"size"`  // bytes of the memory
	Off   uint64 `json:"off"`   // of the range, from the memory's beginning
	Bytes uint64 `json:"bytes"` // of the range
}

// String is the command in messages: `launch "fill" on producer (device 0)`.
func (c Command) String() string {
	var s strings.Builder
	s.WriteString(c.Op)
	if c.Name != "" && c.Name != c.Op {
		fmt.Fprintf(&s, " %q", c.Name)
	}
	if c.Stream != "" {
		fmt.Fprintf(&s, " on %s (%s", c.Stream, c.On)
		if c.Number != 0 {
			fmt.Fprintf(&s, ", command %d", c.Number)
		}
		s.WriteString(")")
	}
	if c.Does != "" {
		s.WriteString(", " + c.Does)
	}
	if c.Site != "" {
		s.WriteString(", at " + c.Site)
	}
	return s.String()
}

// String is the range in messages: "bytes 0 to 511 of x".
func (r Range) String() string {
	switch {
	case r.Bytes == r.Size:
		return "all of " + r.Name
	case r.Bytes == 1:
		return fmt.Sprintf("byte %d of %s", r.Off, r.Name)
	}
	return fmt.Sprintf("bytes %d to %d of %s", r.Off, r.Off+r.Bytes-1, r.Name)
}

// String says what is wrong, between whom, and what would make it right, in lines.
func (r *Report) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s: ", r.Kind)
	switch r.Kind {
	case Race:
		fmt.Fprintf(&s, "nothing orders two commands that touch %v", r.Memory)
	case UseAfterFree:
		fmt.Fprintf(&s, "%v was freed before", r.Memory)
	case UnrecordedWait:
		s.WriteString("the event was never recorded, so that there is nothing to wait for")
	case WrongContext:
		s.WriteString("the handle belongs to another context")
	case BadHandle:
		s.WriteString("the event has been destroyed")
	case BadKernel:
		s.WriteString("the kernel does what its launch does not declare")
	}
	if r.Second == nil {
		fmt.Fprintf(&s, "\n  command: %v", r.First)
	} else {
		fmt.Fprintf(&s, "\n  first:   %v\n  second:  %v", r.First, r.Second)
	}
	fmt.Fprintf(&s, "\n  fix:     %s", r.Fix)
	return s.String()
}

// Error is the report as [Report.String] says it.
func (r *Report) Error() string { return "check: " + r.String() }

// reportOf puts what the engine found into words.
func reportOf(o order.Report) *Report {
	r := &Report{Kind: Kind(o.Kind.String()), First: commandOf(o.First), Fix: fix(o)}
	if o.Second != nil {
		second := commandOf(o.Second)
		r.First.Does, second.Does = does[o.FirstA], does[o.SecondA]
		r.Second = &second
	}
	if o.Buffer != nil {
		r.Memory = &Range{Name: o.Buffer.Name, Size: o.Buffer.Bytes, Off: o.Off, Bytes: o.Bytes}
	}
	return r
}

var does = [...]string{order.Read: "reads", order.Write: "writes", order.Allocate: "allocates", order.Free: "frees"}

func commandOf(c *order.Command) Command {
	r := Command{Op: c.Op, Name: c.Name, Site: c.Site, Number: c.N}
	if c.Stream != nil {
		r.Stream, r.On = c.Stream.Name, c.Stream.Context().Name
	}
	return r
}

// fix is the edge that is missing.
func fix(r order.Report) string {
	switch r.Kind {
	case order.UseAfterFree:
		if r.SecondA == order.Free {
			return "free it once"
		}
		return "free it behind the second: " + edge(r.Second.Stream, r.First.Stream, "second", "free")
	case order.UnrecordedWait:
		return "record the event, and submit that, before anybody waits for it"
	case order.WrongContext:
		if r.Event == nil {
			return "use the handle with a stream of its own context"
		}
		return fmt.Sprintf("record an event that was made in the context of %s (%s)", r.First.Stream.Name, r.First.Stream.Context().Name)
	case order.BadHandle:
		return "destroy the event after its last use"
	}
	a, b := r.First.Stream, r.Second.Stream
	text := edge(a, b, "first", "second")
	if b != nil && a.Context() == b.Context() && (a.Mode == order.Legacy && b.Mode == order.NonBlocking || b.Mode == order.Legacy && a.Mode == order.NonBlocking) {
		text += "; the legacy stream is ordered with blocking streams only, and the other one is not"
	}
	return text
}

// edge says how what follows, on b, is made to come after what precedes, on a; nil is
// the host.
func edge(a, b *order.Stream, precedes, follows string) string {
	switch {
	case a == nil:
		return fmt.Sprintf("issue the %s after the %s", follows, precedes)
	case b == nil:
		return fmt.Sprintf("synchronise with %s behind the %s (or query an event recorded there until it is done) before the %s", a.Name, precedes, follows)
	case a == b:
		return fmt.Sprintf("issue the %s behind the %s on %s", follows, precedes, a.Name)
	}
	return fmt.Sprintf("record an event on %s behind the %s, and have %s wait for it before the %s", a.Name, precedes, b.Name, follows)
}
