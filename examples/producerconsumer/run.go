package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"time"
)

// Exit statuses. An interrupt is 130, as shells report it.
const (
	exitOK          = 0
	exitReported    = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// run is the program, but for what belongs to the process. It returns the exit
// status. The end of ctx is an interrupt.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, s scanner) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return exitUsage
	}
	began := time.Now()
	p := newProgress(stderr)
	walked, err := walk(ctx, o.args, func(path, what string) { p.say("%s: %s, skipped", printable(path), what) })
	if err != nil {
		return refuse(walked, err, o.json, stdout, p.say)
	}
	var ref *reference
	if o.verify {
		ref = newReference()
	}
	p.begin(walked.files)
	out, err := s.scan(ctx, job{options: o, files: walked.files, reference: ref, progress: p.add, log: newLog(p.say)})
	p.finish()
	interrupted := ctx.Err() != nil
	if err != nil && !interrupted {
		out.problems = append(out.problems, problem{Error: err.Error()})
	}
	r := newReport(walked, out, ref, time.Since(began))
	r.Interrupted = interrupted
	if err := r.write(stdout, o, p.say); err != nil {
		p.say("%v", err)
		return exitReported
	}
	return exitStatus(interrupted, r.ok())
}

// refuse says which arguments do not exist. Whoever asked for an object gets one, with
// nothing in it but those.
func refuse(walked found, err error, asJSON bool, stdout io.Writer, say func(string, ...any)) int {
	r := newReport(walked, outcome{}, nil, 0)
	r.sayErrors(say)
	say("%v", err)
	if asJSON {
		if err := r.writeJSON(stdout); err != nil {
			say("%v", err)
		}
	}
	return exitUsage
}

// write says on standard error what went wrong, and prints the rest. Where no
// runtime could be had there is no table to show; an object there always is.
func (r *report) write(stdout io.Writer, o options, say func(string, ...any)) error {
	r.sayErrors(say)
	for _, d := range r.differences {
		say("%s: the CPU counts otherwise", printable(d))
	}
	for _, d := range r.damaged {
		say("%s: not all of it arrived as it was sent", printable(d))
	}
	if r.Interrupted {
		say("%s", r.scanned())
	}
	if o.json {
		return r.writeJSON(stdout)
	}
	if r.Runtime == "" {
		return nil
	}
	return r.writeTable(stdout, viewOf(stdout, o.all))
}

func (r *report) sayErrors(say func(string, ...any)) {
	for _, e := range r.Errors {
		if e.Path == "" {
			say("%s", e.Error)
		} else {
			say("%s: %s", printable(e.Path), e.Error)
		}
	}
}

func exitStatus(interrupted, ok bool) int {
	switch {
	case interrupted:
		return exitInterrupted
	case !ok:
		return exitReported
	}
	return exitOK
}
