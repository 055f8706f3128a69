// Package program is the language of stream programs: what LANGUAGE.md describes,
// read from text and written as text. It knows nothing of order; package oracle
// says what a checker must report, and the command runs programs.
package program

import (
	"fmt"
	"slices"
	"strings"
)

// Program is one program of a file, checked: every index in it is valid.
type Program struct {
	Name       string
	File       string
	Line       int // of "program NAME"
	Devices    int
	Streams    []Stream // the first Devices of them are the legacy default streams, by device
	Events     []Event
	Buffers    []Buffer
	Statements []Statement // in the order in which the host issues them
	Expects    []Expect
}

// Stream is a stream of a device.
type Stream struct {
	Name     string
	Device   int
	Blocking bool // ordered with the device's legacy stream
	Legacy   bool // it is the legacy stream
}

// Event is an event of a device's context.
type Event struct {
	Name   string
	Device int
}

// Buffer is memory: of a device, or pinned memory of the host.
type Buffer struct {
	Name   string
	Bytes  uint64
	Host   bool
	Device int  // where it is not the host's
	Alloc  bool // a statement allocates it; otherwise it is there from the start
}

// Op is what a statement does.
type Op uint8

// The statements. Those up to Wait are on a stream; the others are the host's,
// except that Memcpy is both.
const (
	Alloc Op = 1 + iota
	Free
	Kernel
	Fill
	Copy
	Memcpy
	Record
	Wait
	SyncStream
	SyncEvent
	SyncDevice
	Query
	Read
	Write
	Destroy
)

var opNames = [...]string{"", "alloc", "free", "kernel", "fill", "copy", "memcpy", "record", "wait", "sync",
	"sync event", "sync device", "query", "read", "write", "destroy"}

// String is the statement's first words in the language.
func (o Op) String() string { return opNames[o] }

// Statement is one statement. Which of the indices mean something is the op's
// affair: Device is of a SyncDevice.
type Statement struct {
	Line   int
	Label  string // without its @; empty for none
	Op     Op
	Stream int
	Event  int
	Device int
	Access []Access // a copy's destination stands first
}

// Access is a range of a buffer that a statement reads or writes. It may be empty.
type Access struct {
	Buffer        int
	Offset, Bytes uint64
	Write         bool
}

// Overlaps reports whether two ranges have a byte in common.
func (a Access) Overlaps(b Access) bool {
	return a.Buffer == b.Buffer && a.Bytes > 0 && b.Bytes > 0 && a.Offset < b.Offset+b.Bytes && b.Offset < a.Offset+a.Bytes
}

// Kind is a kind of report.
type Kind string

// The kinds of report.
const (
	Race           Kind = "race"
	UseAfterFree   Kind = "use-after-free"
	UnrecordedWait Kind = "unrecorded-wait"
	WrongContext   Kind = "wrong-context"
	BadHandle      Kind = "bad-handle"
)

// labels is how many statements a report of the kind names, 0 for no kind.
func (k Kind) labels() int {
	switch k {
	case Race, UseAfterFree:
		return 2
	case UnrecordedWait, WrongContext, BadHandle:
		return 1
	}
	return 0
}

// Expect is a report that the program must get. First and Second are labels with
// their @, Second empty where the kind names one statement.
type Expect struct {
	Kind          Kind
	First, Second string
}

// Place names a statement in a report: its label with the @, or "line N".
func (s *Statement) Place() string {
	if s.Label != "" {
		return "@" + s.Label
	}
	return fmt.Sprintf("line %d", s.Line)
}

// HostWaits reports whether a Memcpy has the host wait: unless both of its ends are
// memory of the device.
func (p *Program) HostWaits(s *Statement) bool {
	return p.Buffers[s.Access[0].Buffer].Host || p.Buffers[s.Access[1].Buffer].Host
}

// Frees reports whether a statement frees a buffer.
func (p *Program) Frees(buffer int) bool {
	return slices.ContainsFunc(p.Statements, func(s Statement) bool { return s.Op == Free && s.Access[0].Buffer == buffer })
}

// String is the program as text that Parse reads. Lines are those of the text, so
// they may differ from the program's.
func (p *Program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "program %s\n", p.Name)
	if p.Devices != 1 {
		fmt.Fprintf(&b, "devices %d\n", p.Devices)
	}
	for _, s := range p.Streams[p.Devices:] {
		fmt.Fprintf(&b, "stream %s%s", s.Name, onDevice(s.Device))
		if s.Blocking {
			b.WriteString(" blocking")
		}
		b.WriteByte('\n')
	}
	for _, e := range p.Events {
		fmt.Fprintf(&b, "event %s%s\n", e.Name, onDevice(e.Device))
	}
	for _, m := range p.Buffers {
		switch {
		case m.Host:
			fmt.Fprintf(&b, "host %s bytes=%d\n", m.Name, m.Bytes)
		case !m.Alloc:
			fmt.Fprintf(&b, "buf %s bytes=%d%s\n", m.Name, m.Bytes, onDevice(m.Device))
		}
	}
	for i := range p.Statements {
		b.WriteString(p.Text(&p.Statements[i]))
		b.WriteByte('\n')
	}
	for _, e := range p.Expects {
		fmt.Fprintf(&b, "expect %s\n", e)
	}
	return b.String()
}

func onDevice(d int) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf(" dev=%d", d)
}

// Text is one statement as text.
func (p *Program) Text(s *Statement) string {
	var words []string
	if s.Label != "" {
		words = append(words, "@"+s.Label)
	}
	words = append(words, s.Op.String())
	switch s.Op {
	case Alloc, Free, Kernel, Fill, Copy, Record, Wait, SyncStream:
		words = append(words, p.Streams[s.Stream].Name)
	case Memcpy:
		words = append(words, fmt.Sprintf("dev=%d", p.Streams[s.Stream].Device))
	case SyncDevice:
		words = append(words, fmt.Sprint(s.Device))
	}
	switch s.Op {
	case Record, Wait, SyncEvent, Query, Destroy:
		words = append(words, p.Events[s.Event].Name)
	case Alloc:
		m := p.Buffers[s.Access[0].Buffer]
		words = append(words, m.Name, fmt.Sprintf("bytes=%d", m.Bytes))
	case Kernel:
		for _, list := range []struct {
			word  string
			write bool
		}{{"r=", false}, {"w=", true}} {
			var of []string
			for _, a := range s.Access {
				if a.Write == list.write {
					of = append(of, p.rangeText(a))
				}
			}
			if len(of) > 0 {
				words = append(words, list.word+strings.Join(of, ","))
			}
		}
	default:
		for _, a := range s.Access {
			words = append(words, p.rangeText(a))
		}
	}
	return strings.Join(words, " ")
}

func (p *Program) rangeText(a Access) string {
	m := p.Buffers[a.Buffer]
	if a.Offset == 0 && a.Bytes == m.Bytes {
		return m.Name
	}
	return fmt.Sprintf("%s:%d+%d", m.Name, a.Offset, a.Bytes)
}

// Fails compares reports, each as an Expect, with what the program expects: the
// difference in words, empty where there is none. The order does not matter.
func (p *Program) Fails(reports []Expect) string {
	var wrong []string
	left := slices.Clone(p.Expects)
	for _, r := range reports {
		if i := slices.Index(left, r); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		wrong = append(wrong, "not expected: "+r.String())
	}
	for _, e := range left {
		wrong = append(wrong, "missing: "+e.String())
	}
	return strings.Join(wrong, "; ")
}

// String is the report as it stands behind "expect".
func (e Expect) String() string {
	return strings.TrimSpace(string(e.Kind) + " " + e.First + " " + e.Second)
}

// Report is a report of the program's statements as an Expect. Second is -1 where
// the kind names one.
func (p *Program) Report(kind Kind, first, second int) Expect {
	e := Expect{Kind: kind, First: p.Statements[first].Place()}
	if second >= 0 {
		e.Second = p.Statements[second].Place()
	}
	return e
}
