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

// usageError is any mistake on the command line: exit status 2.
type usageError string

func (e usageError) Error() string { return string(e) }

func wrongUsage(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

const usage = `usage: fourstreams [options]

Two devices, four streams, one copy between them: what ran when, and what waited
for what. Exit status: 0; 1 where the copy made an unrelated stream wait, or
anything failed; 2 for wrong usage; 130 when interrupted.

`

// maxVirtual is how many contexts one GPU certainly takes.
const maxVirtual = 16

// parse reads the command line (without the program's name). Help, and what is
// wrong, go to stderr; the error is flag.ErrHelp or a usageError.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
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
		err = o.validate(fs)
	}
	if err != nil {
		say(stderr, "%v", err)
		say(stderr, "-h for help")
	}
	return o, err
}

// flags are the options as a flag set, which says nothing by itself.
func (o *options) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("fourstreams", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringVar(&o.runtime, "runtime", "", "auto, nvidia or sim; default: what GPUACTOR_RUNTIME says, else auto")
	fs.IntVar(&o.virtual, "virtual", 0, "this `number` of contexts on one GPU, 2 to 16, stand in for devices")
	fs.BoolVar(&o.json, "json", false, "print one JSON object in place of the timeline")
	return fs
}

func (o options) validate(fs *flag.FlagSet) error {
	given := false
	fs.Visit(func(f *flag.Flag) { given = given || f.Name == "runtime" })
	switch {
	case fs.NArg() > 0:
		return wrongUsage("it takes no argument, and was given %q", fs.Arg(0))
	case o.virtual != 0 && (o.virtual < 2 || o.virtual > maxVirtual):
		return wrongUsage("-virtual is %d, and must be 0, or from 2 to %d", o.virtual, maxVirtual)
	case given && !slices.Contains([]string{"auto", "nvidia", "sim"}, o.runtime):
		return wrongUsage("-runtime is %q, and must be auto, nvidia or sim", o.runtime)
	}
	return nil
}
