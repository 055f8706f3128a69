package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// options are what the command line says.
type options struct {
	chunk     int    // bytes
	producers int    // actors that read and count
	consumers int    // actors that reduce
	depth     int    // bound of the channel between them, in chunks
	devices   int    // use at most so many
	virtual   int    // contexts on one GPU in place of devices; 0: real devices
	colocate  bool   // the actors of a device share one thread
	runtime   string // auto, nvidia or sim; empty: as the environment says
	verify    bool
	json      bool
	args      []string // files and directories, never empty
}

// errUsage is any mistake on the command line: exit status 2.
var errUsage = errors.New("wrong usage")

const (
	// A chunk's counts are 32 bits wide; far below that, a chunk that does not
	// fit a few times into a GPU's memory helps nobody.
	maxChunk = 1 << 30
	maxCount = 1024 // of actors, devices, chunks in flight
)

const usage = `usage: producerconsumer [options] [file or directory ...]

Counts the bytes of files on the GPU: the entropy and the kind of each file, and
of all. Without an argument it scans the current directory.

`

// parse reads the command line (without the program's name). Help, and what is
// wrong, go to stderr; the error is flag.ErrHelp or an errUsage.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("producerconsumer", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, usage)
		fs.PrintDefaults()
	}
	fs.IntVar(&o.chunk, "chunk", 1<<20, "`bytes` that are read, uploaded and counted at a time")
	fs.IntVar(&o.producers, "producers", 2, "`number` of actors that read, upload and count")
	fs.IntVar(&o.consumers, "consumers", 2, "`number` of actors that add up")
	fs.IntVar(&o.depth, "depth", 8, "`chunks` that may wait between producers and consumers")
	fs.IntVar(&o.devices, "devices", 2, "use at most this `number` of devices; with -virtual all of those where not given")
	fs.IntVar(&o.virtual, "virtual", 0, "this `number` of contexts on one GPU stand in for devices (0: use real ones)")
	fs.BoolVar(&o.colocate, "colocate", false, "actors of one device share a thread")
	fs.StringVar(&o.runtime, "runtime", "", "auto, nvidia or sim; where not given, as GPUACTOR_RUNTIME says, else auto")
	fs.BoolVar(&o.verify, "verify", false, "compare with a computation on the CPU; exit status 1 on a difference")
	fs.BoolVar(&o.json, "json", false, "print one JSON object in place of the table")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, fmt.Errorf("%w: %w", errUsage, err)
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.virtual > 0 && !given["devices"] {
		o.devices = o.virtual
	}
	if o.args = fs.Args(); len(o.args) == 0 {
		o.args = []string{"."}
	}
	if err := o.validate(given["runtime"]); err != nil {
		fmt.Fprintln(stderr, "producerconsumer:", err)
		fs.Usage()
		return o, err
	}
	return o, nil
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
		{"virtual", o.virtual, 0, maxCount},
	} {
		if f.have < f.lo || f.have > f.top {
			return fmt.Errorf("%w: -%s is %d, and must be from %d to %d", errUsage, f.name, f.have, f.lo, f.top)
		}
	}
	if runtimes := []string{"auto", "nvidia", "sim"}; runtimeGiven && !slices.Contains(runtimes, o.runtime) {
		return fmt.Errorf("%w: -runtime is %q, and must be one of %s", errUsage, o.runtime, strings.Join(runtimes, ", "))
	}
	return nil
}
