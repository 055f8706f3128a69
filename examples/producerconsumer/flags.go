package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
)

// options are what the command line says.
type options struct {
	chunk     int    // bytes
	producers int    // actors that read and count
	consumers int    // actors that reduce
	depth     int    // bound of the channel between them, in chunks
	devices   int    // use at most so many
	asked     int    // devices that the command line asks for; 0: none in particular
	virtual   int    // contexts on one GPU in place of devices; 0: real devices
	colocate  bool   // the actors of a device share one thread
	runtime   string // auto, nvidia or sim; empty: as the environment says
	verify    bool
	json      bool
	all       bool     // show each file, also where those are many
	args      []string // files and directories, never empty
}

// usageError is any mistake on the command line: exit status 2.
type usageError string

func (e usageError) Error() string { return string(e) }

func wrongUsage(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

const (
	// A chunk's counts are 32 bits wide; far below that, a chunk that does not
	// fit a few times into a GPU's memory helps nobody.
	maxChunk = 1 << 30
	maxCount = 1024 // of actors, devices, chunks in flight
	// maxVirtual is how many contexts one GPU certainly takes.
	maxVirtual = 16
)

const usage = `usage: producerconsumer [options] [file or directory ...]

Counts the bytes of files on the GPU: the entropy and the kind of each file, and
of all. Without an argument it scans the current directory. Options come first.

Symbolic links are passed over in a directory, and scanned as an argument. Exit
status: 0; 1 where anything is reported; 2 for wrong usage or an argument that
does not exist; 130 when interrupted.

`

// parse reads the command line (without the program's name). Help, and what is
// wrong, go to stderr; the error is flag.ErrHelp or a usageError.
func parse(args []string, stderr io.Writer) (options, error) {
	o := options{chunk: 1 << 20}
	fs := o.flags()
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stderr, usage)
		fs.SetOutput(stderr)
		fs.PrintDefaults()
		return o, err
	case err != nil:
		err = usageError(err.Error())
	default:
		err = o.complete(fs)
	}
	if err != nil {
		fmt.Fprintf(stderr, "producerconsumer: %v\nproducerconsumer: -h for help\n", err)
	}
	return o, err
}

// flags are the options as a flag set, which says nothing by itself.
func (o *options) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("producerconsumer", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.Var((*byteSize)(&o.chunk), "chunk", "`bytes` read and uploaded at a time; 64K is 65536")
	fs.IntVar(&o.producers, "producers", 2, "`number` of actors that read, upload and count")
	fs.IntVar(&o.consumers, "consumers", 2, "`number` of actors that add up")
	fs.IntVar(&o.depth, "depth", 8, "`chunks` that may wait between producers and consumers")
	fs.IntVar(&o.devices, "devices", 2, "at most this `number` of devices; all of those of -virtual")
	fs.IntVar(&o.virtual, "virtual", 0, "this `number` of contexts on one GPU, up to 16, stand in for devices")
	fs.BoolVar(&o.colocate, "colocate", false, "actors of one device share a thread")
	fs.StringVar(&o.runtime, "runtime", "", "auto, nvidia or sim; default: what GPUACTOR_RUNTIME says, else auto")
	fs.BoolVar(&o.verify, "verify", false, "compare with a computation on the CPU; exit status 1 on a difference")
	fs.BoolVar(&o.json, "json", false, "print one JSON object in place of the table")
	fs.BoolVar(&o.all, "all", false, "show all files; otherwise a terminal shows the largest 40")
	return fs
}

// complete works out what follows from the options that were given, and refuses what
// makes no sense.
func (o *options) complete(fs *flag.FlagSet) error {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.virtual > 0 && !given["devices"] {
		o.devices = o.virtual
	}
	if given["devices"] {
		o.asked = o.devices
	}
	if o.args = fs.Args(); len(o.args) == 0 {
		o.args = []string{"."}
	}
	return o.validate(given["runtime"])
}

func (o options) validate(runtimeGiven bool) error {
	for _, f := range []struct {
		name          string
		have, lo, top int
	}{
		{"chunk", o.chunk, 1, maxChunk},
		{"producers", o.producers, 1, maxCount},
		{"consumers", o.consumers, 1, maxCount},
		{"depth", o.depth, 1, maxCount},
		{"devices", o.devices, 1, maxCount},
		{"virtual", o.virtual, 0, maxVirtual},
	} {
		if f.have < f.lo || f.have > f.top {
			return wrongUsage("-%s is %d, and must be from %d to %d", f.name, f.have, f.lo, f.top)
		}
	}
	if runtimeGiven && !slices.Contains([]string{"auto", "nvidia", "sim"}, o.runtime) {
		return wrongUsage("-runtime is %q, and must be auto, nvidia or sim", o.runtime)
	}
	return nil
}
