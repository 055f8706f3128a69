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
	runtime string // auto, nvidia or sim; empty: as the environment says
	virtual int    // contexts on one GPU in place of devices; 0: real devices
	json    bool
}

// errUsage is any mistake on the command line: exit status 2.
var errUsage = errors.New("wrong usage")

const usage = `usage: fourstreams [options]

Two devices, four streams, one copy between them: what ran when, and what waited
for what. Exit status 1 where the copy made an unrelated stream wait.

`

// maxVirtual is how many contexts one GPU certainly takes.
const maxVirtual = 16

// parse reads the command line (without the program's name). Help, and what is
// wrong, go to stderr; the error is flag.ErrHelp or an errUsage.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("fourstreams", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, usage)
		fs.PrintDefaults()
	}
	fs.StringVar(&o.runtime, "runtime", "", "auto, nvidia or sim; where not given, as GPUACTOR_RUNTIME says, else auto")
	fs.IntVar(&o.virtual, "virtual", 0, "this `number` of contexts on one GPU, at least 2, stand in for devices (0: use real ones)")
	fs.BoolVar(&o.json, "json", false, "print one JSON object in place of the timeline")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, fmt.Errorf("%w: %w", errUsage, err)
	}
	err := o.validate(fs)
	if err != nil {
		fmt.Fprintln(stderr, "fourstreams:", err)
		fs.Usage()
	}
	return o, err
}

func (o options) validate(fs *flag.FlagSet) error {
	given := false
	fs.Visit(func(f *flag.Flag) { given = given || f.Name == "runtime" })
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("%w: it takes no argument, and was given %q", errUsage, fs.Arg(0))
	case o.virtual != 0 && (o.virtual < 2 || o.virtual > maxVirtual):
		return fmt.Errorf("%w: -virtual is %d, and must be 0, or from 2 to %d", errUsage, o.virtual, maxVirtual)
	case given && !slices.Contains([]string{"auto", "nvidia", "sim"}, o.runtime):
		return fmt.Errorf("%w: -runtime is %q, and must be auto, nvidia or sim", errUsage, o.runtime)
	}
	return nil
}
