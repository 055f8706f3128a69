package program

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// all has every statement in every form.
const all = `# A file may begin with a comment,
   	# or with nothing.
program all of it, twice: "quoted"  and spaced   # the name ends here
devices 3
stream a
stream b dev=2
stream c blocking
stream d blocking dev=1
event e
event f dev=1
buf x bytes=1024
buf y dev=2 bytes=16
host h bytes=64
alloc a z bytes=8
@k kernel a r=x,h w=y:4+4,z
kernel legacy1 w=x
kernel b
fill b y:0+16
copy c h x:0+64
copy a y x:16+16
memcpy dev=0 x:0+64 h
memcpy dev=2 y y
@r record a e
record legacy2 e
wait legacy f
sync c
sync legacy
sync event e
sync device 2
query f
read h
write h:63+1
read h:64+0
free b z
destroy e
@t free b z
expect use-after-free @k @t
expect race @k @r
expect bad-handle @r
expect wrong-context @r
expect unrecorded-wait @t

program another of the same file
expect clean
`

func TestEveryStatementIsRead(t *testing.T) {
	programs, err := Parse("all.txt", all)
	if err != nil {
		t.Fatal(err)
	}
	if len(programs) != 2 {
		t.Fatalf("%d programs", len(programs))
	}
	p := programs[0]
	if p.Name != `all of it, twice: "quoted"  and spaced` || p.Line != 3 || p.File != "all.txt" || p.Devices != 3 {
		t.Errorf("%q at %s:%d, %d devices", p.Name, p.File, p.Line, p.Devices)
	}
	if want := []Stream{{Name: "legacy", Legacy: true}, {Name: "legacy1", Device: 1, Legacy: true}, {Name: "legacy2", Device: 2, Legacy: true},
		{Name: "a"}, {Name: "b", Device: 2}, {Name: "c", Blocking: true}, {Name: "d", Device: 1, Blocking: true}}; !reflect.DeepEqual(p.Streams, want) {
		t.Errorf("streams %+v", p.Streams)
	}
	if want := []Event{{"e", 0}, {"f", 1}}; !reflect.DeepEqual(p.Events, want) {
		t.Errorf("events %+v", p.Events)
	}
	if want := []Buffer{{Name: "x", Bytes: 1024}, {Name: "y", Bytes: 16, Device: 2}, {Name: "h", Bytes: 64, Host: true},
		{Name: "z", Bytes: 8, Alloc: true}}; !reflect.DeepEqual(p.Buffers, want) {
		t.Errorf("buffers %+v", p.Buffers)
	}
	if want := (Statement{Line: 15, Label: "k", Op: Kernel, Stream: 3,
		Access: []Access{{0, 0, 1024, false}, {2, 0, 64, false}, {1, 4, 4, true}, {3, 0, 8, true}}}); !reflect.DeepEqual(p.Statements[1], want) {
		t.Errorf("kernel %+v", p.Statements[1])
	}
	if want := []Expect{{UseAfterFree, "@k", "@t"}, {Race, "@k", "@r"}, {BadHandle, "@r", ""}, {WrongContext, "@r", ""}, {UnrecordedWait, "@t", ""}}; !reflect.DeepEqual(p.Expects, want) {
		t.Errorf("expects %+v", p.Expects)
	}
	if got := p.Statements[0].Place() + ", " + p.Statements[1].Place(); got != "line 14, @k" {
		t.Errorf("places: %s", got)
	}
	// As text it is the same program: the issued statements are those of the file.
	var lines []string
	for line := range strings.Lines(all) {
		line, _, _ = strings.Cut(line, "#")
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	for i := range p.Statements {
		s := &p.Statements[i]
		if text, want := p.Text(s), lines[s.Line-1]; text != strings.Replace(want, "y:0+16", "y", 1) {
			t.Errorf("line %d is written %q, was %q", s.Line, text, want)
		}
	}
}

// Each text is a program's beginning and, behind it, a line that is refused.
func TestRefusals(t *testing.T) {
	const begin = `program p
devices 2
stream s
stream t dev=1
event e
buf x bytes=100
buf far bytes=100 dev=1
host h bytes=100
`
	for _, c := range []struct{ name, text, want string }{
		{"an unknown statement", begin + "launch s x", `unknown statement "launch"`},
		{"an unknown stream", begin + "kernel q w=x", `no stream is called "q"`},
		{"an unknown event", begin + "record s q", `no event is called "q"`},
		{"an unknown event of a wait", begin + "wait s q", `no event is called "q"`},
		{"an unknown event of a sync", begin + "sync event q", `no event is called "q"`},
		{"an unknown event of a query", begin + "query q", `no event is called "q"`},
		{"an unknown event of a destroy", begin + "destroy q", `no event is called "q"`},
		{"an unknown stream of a sync", begin + "sync q", `no stream is called "q"`},
		{"unknown memory", begin + "kernel s w=q", `no memory is called "q"`},
		{"unknown memory of a free", begin + "free s q", `no memory is called "q"`},
		{"an unknown label", begin + "@a kernel s w=x\nexpect race @a @b", "no statement has the label @b"},
		{"a label of another program", begin + "@a kernel s w=x\nprogram q\nexpect bad-handle @a", "no statement has the label @a"},
		{"an unknown kind", begin + "@a kernel s w=x\nexpect deadlock @a", "no kind of report is called deadlock"},
		{"the wrong number of labels", begin + "@a kernel s w=x\nexpect race @a", "race names 2 statements"},
		{"too many labels", begin + "@a kernel s w=x\nexpect bad-handle @a @a", "bad-handle names 1 statements"},
		{"a label without its @", begin + "@a kernel s w=x\nexpect bad-handle a", "a is not a label with its @"},
		{"nothing expected", begin + "expect", "expect clean, or"},
		{"clean and not", begin + "@a wait s e\nexpect unrecorded-wait @a\nexpect clean", "a program is clean or has reports"},
		{"a use before the alloc", begin + "kernel s w=z\nalloc s z bytes=8", `:9: no memory is called "z" so far`},
		{"a second alloc", begin + "alloc s z bytes=8\nfree s z\nalloc s z bytes=8", "a second memory z"},
		{"an alloc of a buf", begin + "alloc s x bytes=8", "a second memory x"},
		{"a second stream", begin + "stream s", "a second stream s"},
		{"a second event", begin + "event e", "a second event e"},
		{"a second buf", begin + "buf h bytes=1", "a second memory h"},
		{"a second label", begin + "@a sync s\n@a sync s", "a second label @a"},
		{"a declared legacy stream", begin + "stream legacy2", "legacy2 is a device's legacy stream"},
		{"a legacy stream of no device", begin + "kernel legacy2 w=x", `no stream is called "legacy2"`},
		{"a range behind the end", begin + "kernel s w=x:96+5", "x:96+5 is outside the 100 bytes of x"},
		{"an offset behind the end", begin + "kernel s w=x:101+0", "outside the 100 bytes"},
		{"a range that wraps around", begin + "kernel s w=x:1+9223372036854775807", "outside the 100 bytes"},
		{"a number too great", begin + "kernel s w=x:1+99999999999999999999", "a number is expected"},
		{"a range without a length", begin + "kernel s w=x:4", "is not B:OFFSET+LENGTH"},
		{"a negative offset", begin + "kernel s w=x:-4+8", "a number is expected"},
		{"a copy on a legacy stream to another device", begin + "copy legacy far x", "far is device 1's"},
		{"a copy on a legacy stream from another device", begin + "copy legacy1 far x", "x is device 0's"},
		{"a download on a legacy stream from another device", begin + "copy legacy h far", "far is device 1's"},
		{"a memcpy to another device", begin + "memcpy dev=0 far x", "far is device 1's"},
		{"a memcpy of another device", begin + "memcpy dev=1 h x", "x is device 0's"},
		{"a copy inside the host", begin + "host i bytes=100\ncopy s h i", "between two memories of the host"},
		{"a copy of different lengths", begin + "copy s x far:0+99", "99 bytes are copied to 100"},
		{"a fill of the host's", begin + "fill s h", "h is the host's"},
		{"a free of the host's", begin + "free s h", "h is the host's"},
		{"a free of a range", begin + "free s x:0+4", `no memory is called "x:0+4"`},
		{"the host reads a device's", begin + "read x", "x is a device's"},
		{"the host writes a device's", begin + "write x", "x is a device's"},
		{"a device too many", begin + "stream u dev=2", "device 2 of 2"},
		{"a device of an event", begin + "event u dev=2", "device 2 of 2"},
		{"a device of a buf", begin + "buf u bytes=1 dev=2", "device 2 of 2"},
		{"a device of a sync", begin + "sync device 2", "device 2 of 2"},
		{"a device of a memcpy", begin + "memcpy dev=2 x h", "device 2 of 2"},
		{"no devices", "program p\ndevices 0", "0 devices"},
		{"too many devices", "program p\ndevices 65", "65 devices"},
		{"devices twice", "program p\ndevices 2\ndevices 2", "a second devices"},
		{"devices too late", "program p\nstream s\ndevices 2", "devices stands before"},
		{"devices without a number", "program p\ndevices", "devices N"},
		{"no bytes", begin + "buf u dev=1", "bytes=N is missing"},
		{"zero bytes", begin + "host u bytes=0", "0 bytes"},
		{"too many bytes", begin + "alloc s u bytes=20000000000", "20000000000 bytes"},
		{"an unknown option", begin + "stream u device=1", `"device=1" in stream`},
		{"an option twice", begin + "buf u bytes=1 bytes=2", `"bytes=2" in buf`},
		{"a flag with a value", begin + "stream u blocking=1", `"blocking=1" in stream`},
		{"an option without a value", begin + "stream u dev", `"dev" in stream`},
		{"a device for the host", begin + "host u bytes=1 dev=1", `"dev=1" in host`},
		{"neither r= nor w=", begin + "kernel s x", `"x" is neither`},
		{"an empty list", begin + "kernel s w=", `"w=" is neither`},
		{"an empty place in a list", begin + "kernel s w=x,", `no memory is called ""`},
		{"too many ranges", begin + "kernel s w=" + strings.TrimSuffix(strings.Repeat("x,", MaxRanges+1), ","), "a kernel of 33 ranges"},
		{"a kernel without a stream", begin + "kernel", "kernel S"},
		{"a stream without a name", begin + "stream", "stream S"},
		{"a sync of nothing", begin + "sync", "sync S, sync event E or"},
		{"a sync of something else", begin + "sync stream s", "sync S, sync event E or"},
		{"a word too many", begin + "record s e e", "record S E"},
		{"a word too few", begin + "fill s", "fill S B"},
		{"a copy without a source", begin + "copy s x", "copy S DST SRC"},
		{"a memcpy without a device", begin + "memcpy x h far", "memcpy dev=D DST SRC"},
		{"an alloc without bytes", begin + "alloc s", "alloc S B bytes=N"},
		{"a read of two", begin + "read h h", "read H"},
		{"a name with a sign", begin + "stream a,b", `"a,b" is not a name`},
		{"an empty label", begin + "@ sync s", `"" is not a name for a label`},
		{"a label alone", begin + "@a", "a label without a statement"},
		{"a label on program", begin + "@a program q", "program takes no label"},
		{"a label on expect", begin + "@a expect clean", "expect takes no label"},
		{"a statement before the first program", "stream s", "stream stands before the first program"},
		{"a program without a name", "program  # nothing", "a program without a name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			programs, err := Parse("f.txt", c.text+"\n")
			var e *Error
			if !errors.As(err, &e) || programs != nil {
				t.Fatalf("%d programs, error %v", len(programs), err)
			}
			// The refused line is the last one, but where the text is refused for a line before it.
			last := strings.Count(c.text, "\n") + 1
			if e.File != "f.txt" || e.Line != last && !strings.HasPrefix(c.want, ":") {
				t.Errorf("%v, not of line %d", err, last)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestFilesMayHaveCarriageReturnsAndNoLastNewline(t *testing.T) {
	text := strings.TrimSuffix(strings.ReplaceAll(all, "\n", "\r\n"), "\r\n")
	programs, err := Parse("f.txt", text)
	if err != nil || len(programs) != 2 {
		t.Fatal(len(programs), err)
	}
	if p, err := Parse("f.txt", ""); err != nil || len(p) != 0 {
		t.Errorf("an empty file: %d programs, %v", len(p), err)
	}
}

func TestWhatDiffersFromTheExpectsIsSaid(t *testing.T) {
	a, b := Expect{Race, "@a", "@b"}, Expect{BadHandle, "@c", ""}
	for _, c := range []struct {
		expects, reports []Expect
		want             string
	}{
		{nil, nil, ""},
		{[]Expect{a, b}, []Expect{b, a}, ""},
		{[]Expect{a}, nil, "missing: race @a @b"},
		{nil, []Expect{b}, "not expected: bad-handle @c"},
		{[]Expect{a}, []Expect{a, a}, "not expected: race @a @b"},
		{[]Expect{a}, []Expect{{Race, "@b", "@a"}}, "not expected: race @b @a; missing: race @a @b"},
	} {
		if got := (&Program{Expects: c.expects}).Fails(c.reports); got != c.want {
			t.Errorf("expects %v, reports %v: %q, want %q", c.expects, c.reports, got, c.want)
		}
	}
}

// Whatever the text, it is refused with a place, or it is programs that are written
// as text that reads the same.
func FuzzParse(f *testing.F) {
	f.Add(all)
	files, err := filepath.Glob("../../testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		programs, err := Parse("f.txt", text)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Line < 1 || e.Line > strings.Count(text, "\n")+1 {
				t.Fatalf("%v of %d lines", err, strings.Count(text, "\n")+1)
			}
			return
		}
		for _, p := range programs {
			written := p.String()
			again, err := Parse("f.txt", written)
			if err != nil || len(again) != 1 {
				t.Fatalf("%v\nof %q\nfrom %q", err, written, text)
			}
			if second := again[0].String(); second != written {
				t.Fatalf("written as\n%q\nand again as\n%q", written, second)
			}
		}
	})
}
