package program

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What a program may have at most.
const (
	MaxDevices = 64
	MaxBytes   = 1 << 34 // of a buffer
	MaxRanges  = 32      // of a kernel
)

// Error is a text that is no program.
type Error struct {
	File string
	Line int
	Text string
}

// Error is "file:line: text".
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text) }

// Parse reads all programs of a file. Every error is an *Error.
func Parse(file, text string) (all []*Program, err error) {
	r := &reader{file: file}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			all, err = nil, e
		default:
			panic(e)
		}
	}()
	for line := range strings.Lines(text) {
		r.line++
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 {
			r.statement(words, strings.TrimSpace(line))
		}
	}
	r.finish()
	return r.programs, nil
}

// reader holds what has been read. Its methods give up by a panic with an *Error.
type reader struct {
	file     string
	line     int
	programs []*Program

	// Of the program that is being read.
	p       *Program
	devices int // the line of its "devices", 0 for none
	labels  map[string]bool
	streams map[string]int
	events  map[string]int
	buffers map[string]int
	expects []expectLine
	clean   int // the line of "expect clean"
}

type expectLine struct {
	line   int
	expect Expect
}

func (r *reader) refuse(format string, args ...any) { r.refuseAt(r.line, format, args...) }

func (r *reader) refuseAt(line int, format string, args ...any) {
	panic(&Error{r.file, line, fmt.Sprintf(format, args...)})
}

// begin starts a program.
func (r *reader) begin(name string) {
	r.finish()
	if name == "" {
		r.refuse("a program without a name")
	}
	r.p = &Program{Name: name, File: r.file, Line: r.line, Devices: 1}
	r.devices, r.clean, r.expects = 0, 0, nil
	r.labels, r.streams, r.events, r.buffers = map[string]bool{}, map[string]int{}, map[string]int{}, map[string]int{}
	r.legacy()
}

// legacy puts the legacy streams of all devices in front. Nothing else has been
// declared yet.
func (r *reader) legacy() {
	r.p.Streams = nil
	for d := range r.p.Devices {
		name := "legacy"
		if d > 0 {
			name += strconv.Itoa(d)
		}
		r.streams[name] = d
		r.p.Streams = append(r.p.Streams, Stream{Name: name, Device: d, Legacy: true})
	}
}

// finish checks what can only be checked at a program's end.
func (r *reader) finish() {
	if r.p == nil {
		return
	}
	for _, e := range r.expects {
		for _, label := range []string{e.expect.First, e.expect.Second} {
			if label != "" && !r.labels[label[1:]] {
				r.refuseAt(e.line, "no statement has the label %s", label)
			}
		}
		r.p.Expects = append(r.p.Expects, e.expect)
	}
	if r.clean > 0 && len(r.expects) > 0 {
		r.refuseAt(r.clean, "a program is clean or has reports, not both")
	}
	r.programs = append(r.programs, r.p)
	r.p = nil
}

func (r *reader) statement(words []string, line string) {
	label := ""
	if words[0][0] == '@' {
		label, words = words[0][1:], words[1:]
		if r.name(label, "label"); len(words) == 0 {
			r.refuse("a label without a statement")
		}
	}
	word, args := words[0], words[1:]
	if label != "" && (word == "program" || word == "expect") {
		r.refuse("%s takes no label", word)
	}
	if word == "program" {
		r.begin(strings.TrimSpace(strings.TrimPrefix(line, word)))
		return
	}
	if r.p == nil {
		r.refuse("%s stands before the first program", word)
	}
	if label != "" {
		if r.labels[label] {
			r.refuse("a second label @%s", label)
		}
		r.labels[label] = true
	}
	if r.declare(word, args) {
		return
	}
	s := Statement{Line: r.line, Label: label}
	r.read(&s, word, args)
	r.p.Statements = append(r.p.Statements, s)
}

// declare reads what is not issued: false for everything else.
func (r *reader) declare(word string, args []string) bool {
	switch word {
	case "devices":
		r.count(args, 1, "devices N")
		switch {
		case r.devices > 0:
			r.refuse("a second devices")
		case len(r.p.Streams)+len(r.p.Events)+len(r.p.Buffers)+len(r.p.Statements) > 1:
			r.refuse("devices stands before everything else of its program")
		}
		n := r.number(args[0], "devices")
		if n < 1 || n > MaxDevices {
			r.refuse("%d devices, from 1 to %d are possible", n, MaxDevices)
		}
		r.devices, r.p.Devices = r.line, int(n)
		r.legacy()
	case "stream":
		name, o := r.options(args, "stream S [dev=D] [blocking]", "dev", "blocking")
		if rest, ok := strings.CutPrefix(name, "legacy"); ok && strings.Trim(rest, "0123456789") == "" {
			r.refuse("%s is a device's legacy stream, and needs no declaration", name)
		}
		_, blocking := o["blocking"]
		r.p.Streams = append(r.p.Streams, Stream{Name: name, Device: r.device(o), Blocking: blocking})
		r.enter(r.streams, "stream", name, len(r.p.Streams)-1)
	case "event":
		name, o := r.options(args, "event E [dev=D]", "dev")
		r.p.Events = append(r.p.Events, Event{name, r.device(o)})
		r.enter(r.events, "event", name, len(r.p.Events)-1)
	case "buf":
		name, o := r.options(args, "buf B bytes=N [dev=D]", "bytes", "dev")
		r.buffer(Buffer{Name: name, Bytes: r.bytes(o), Device: r.device(o)})
	case "host":
		name, o := r.options(args, "host H bytes=N", "bytes")
		r.buffer(Buffer{Name: name, Bytes: r.bytes(o), Host: true})
	case "expect":
		r.expect(args)
	default:
		return false
	}
	return true
}

func (r *reader) buffer(b Buffer) int {
	r.p.Buffers = append(r.p.Buffers, b)
	i := len(r.p.Buffers) - 1
	r.enter(r.buffers, "memory", b.Name, i)
	return i
}

func (r *reader) expect(args []string) {
	if len(args) == 1 && args[0] == "clean" {
		r.clean = r.line
		return
	}
	if len(args) == 0 {
		r.refuse("expect clean, or expect KIND and labels")
	}
	kind := Kind(args[0])
	n := kind.labels()
	if n == 0 {
		r.refuse("no kind of report is called %s", kind)
	}
	if len(args) != 1+n {
		r.refuse("%s names %d statements", kind, n)
	}
	for _, a := range args[1:] {
		if len(a) < 2 || a[0] != '@' {
			r.refuse("%s is not a label with its @", a)
		}
	}
	e := Expect{Kind: kind, First: args[1]}
	if n == 2 {
		e.Second = args[2]
	}
	r.expects = append(r.expects, expectLine{r.line, e})
}

// read reads a statement that is issued.
func (r *reader) read(s *Statement, word string, args []string) {
	switch word {
	case "alloc":
		if len(args) < 2 {
			r.refuse("alloc S B bytes=N")
		}
		s.Op, s.Stream = Alloc, r.find(r.streams, "stream", args[0])
		name, o := r.options(args[1:], "alloc S B bytes=N", "bytes")
		b := Buffer{Name: name, Bytes: r.bytes(o), Device: r.p.Streams[s.Stream].Device, Alloc: true}
		s.Access = []Access{{Buffer: r.buffer(b), Bytes: b.Bytes, Write: true}}
	case "free":
		r.count(args, 2, "free S B")
		s.Op, s.Stream = Free, r.find(r.streams, "stream", args[0])
		b := r.find(r.buffers, "memory", args[1])
		if r.p.Buffers[b].Host {
			r.refuse("%s is the host's, and is never freed", args[1])
		}
		s.Access = []Access{{Buffer: b, Bytes: r.p.Buffers[b].Bytes, Write: true}}
	case "kernel":
		r.kernel(s, args)
	case "fill":
		r.count(args, 2, "fill S B")
		s.Op, s.Stream = Fill, r.find(r.streams, "stream", args[0])
		s.Access = []Access{r.access(args[1], true)}
		if b := r.p.Buffers[s.Access[0].Buffer]; b.Host {
			r.refuse("%s is the host's: a fill is of device memory", b.Name)
		}
	case "copy":
		r.count(args, 3, "copy S DST SRC")
		s.Op, s.Stream = Copy, r.find(r.streams, "stream", args[0])
		r.ends(s, args[1:])
	case "memcpy":
		if len(args) != 3 || !strings.HasPrefix(args[0], "dev=") {
			r.refuse("memcpy dev=D DST SRC")
		}
		s.Op, s.Stream = Memcpy, r.deviceNumber(args[0][len("dev="):])
		r.ends(s, args[1:])
	case "record", "wait":
		r.count(args, 2, word+" S E")
		s.Op, s.Stream, s.Event = Record, r.find(r.streams, "stream", args[0]), r.find(r.events, "event", args[1])
		if word == "wait" {
			s.Op = Wait
		}
	case "sync":
		r.sync(s, args)
	case "query", "destroy":
		r.count(args, 1, word+" E")
		s.Op, s.Event = Query, r.find(r.events, "event", args[0])
		if word == "destroy" {
			s.Op = Destroy
		}
	case "read", "write":
		r.count(args, 1, word+" H")
		s.Op = Read
		if word == "write" {
			s.Op = Write
		}
		s.Access = []Access{r.access(args[0], word == "write")}
		if b := r.p.Buffers[s.Access[0].Buffer]; !b.Host {
			r.refuse("%s is a device's: the host touches its own memory only", b.Name)
		}
	default:
		r.refuse("unknown statement %q", word)
	}
}

func (r *reader) kernel(s *Statement, args []string) {
	if len(args) == 0 {
		r.refuse("kernel S [r=B,…] [w=B,…]")
	}
	s.Op, s.Stream = Kernel, r.find(r.streams, "stream", args[0])
	for _, a := range args[1:] {
		word, list, _ := strings.Cut(a, "=")
		if word != "r" && word != "w" || list == "" {
			r.refuse("%q is neither r=B,… nor w=B,…", a)
		}
		for part := range strings.SplitSeq(list, ",") {
			s.Access = append(s.Access, r.access(part, word == "w"))
		}
	}
	if len(s.Access) > MaxRanges {
		r.refuse("a kernel of %d ranges, at most %d are possible", len(s.Access), MaxRanges)
	}
}

// ends reads a copy's two ends.
func (r *reader) ends(s *Statement, args []string) {
	to, from := r.access(args[0], true), r.access(args[1], false)
	dst, src := r.p.Buffers[to.Buffer], r.p.Buffers[from.Buffer]
	if dst.Host && src.Host && s.Op == Copy {
		r.refuse("a copy between two memories of the host")
	}
	if to.Bytes != from.Bytes {
		r.refuse("%d bytes are copied to %d", from.Bytes, to.Bytes)
	}
	if on := r.p.Streams[s.Stream]; on.Legacy {
		for _, b := range []Buffer{dst, src} {
			if !b.Host && b.Device != on.Device {
				r.refuse("%s is device %d's: a copy on device %d's legacy stream touches its own device only", b.Name, b.Device, on.Device)
			}
		}
	}
	s.Access = []Access{to, from}
}

func (r *reader) sync(s *Statement, args []string) {
	switch {
	case len(args) == 1:
		s.Op, s.Stream = SyncStream, r.find(r.streams, "stream", args[0])
	case len(args) == 2 && args[0] == "event":
		s.Op, s.Event = SyncEvent, r.find(r.events, "event", args[1])
	case len(args) == 2 && args[0] == "device":
		s.Op, s.Device = SyncDevice, r.deviceNumber(args[1])
	default:
		r.refuse("sync S, sync event E or sync device D")
	}
}

// access reads B or B:OFFSET+LENGTH.
func (r *reader) access(text string, write bool) Access {
	name, part, ranged := strings.Cut(text, ":")
	b := r.find(r.buffers, "memory", name)
	size := r.p.Buffers[b].Bytes
	if !ranged {
		return Access{b, 0, size, write}
	}
	from, length, ok := strings.Cut(part, "+")
	if !ok {
		r.refuse("%q is not B:OFFSET+LENGTH", text)
	}
	a := Access{b, r.number(from, "an offset"), r.number(length, "a length"), write}
	if a.Offset > size || a.Bytes > size-a.Offset {
		r.refuse("%s is outside the %d bytes of %s", text, size, name)
	}
	return a
}

func (r *reader) count(args []string, n int, form string) {
	if len(args) != n {
		r.refuse("%s", form)
	}
}

// options reads a name and, in any order, KEY=VALUE and flags, each at most once.
func (r *reader) options(args []string, form string, keys ...string) (name string, o map[string]string) {
	if len(args) == 0 {
		r.refuse("%s", form)
	}
	o = map[string]string{}
	for _, a := range args[1:] {
		key, value, valued := strings.Cut(a, "=")
		_, twice := o[key]
		if !slices.Contains(keys, key) || twice || valued == (key == "blocking") {
			r.refuse("%q in %s", a, form)
		}
		o[key] = value
	}
	return args[0], o
}

func (r *reader) bytes(o map[string]string) uint64 {
	text, ok := o["bytes"]
	if !ok {
		r.refuse("bytes=N is missing")
	}
	n := r.number(text, "bytes")
	if n < 1 || n > MaxBytes {
		r.refuse("%d bytes, from 1 to %d are possible", n, uint64(MaxBytes))
	}
	return n
}

func (r *reader) device(o map[string]string) int {
	text, ok := o["dev"]
	if !ok {
		return 0
	}
	return r.deviceNumber(text)
}

func (r *reader) deviceNumber(text string) int {
	n := r.number(text, "a device")
	if n >= uint64(r.p.Devices) {
		r.refuse("device %d of %d", n, r.p.Devices)
	}
	return int(n)
}

func (r *reader) number(text, what string) uint64 {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		r.refuse("%q is not %s: a number is expected", text, what)
	}
	return n
}

func (r *reader) name(text, what string) {
	if text == "" || strings.ContainsAny(text, "@=:,") {
		r.refuse("%q is not a name for a %s", text, what)
	}
}

func (r *reader) enter(names map[string]int, what, name string, i int) {
	r.name(name, what)
	if _, have := names[name]; have {
		r.refuse("a second %s %s", what, name)
	}
	names[name] = i
}

func (r *reader) find(names map[string]int, what, name string) int {
	i, have := names[name]
	if !have {
		r.refuse("no %s is called %q so far", what, name)
	}
	return i
}
