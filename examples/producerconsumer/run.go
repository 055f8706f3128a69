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
		p.say("%v", err)
		return exitUsage
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
	if err := r.write(stdout, o.json, p.say); err != nil {
		p.say("%v", err)
		return exitReported
	}
	return exitStatus(interrupted, r.ok())
}

// write says on standard error what went wrong, and prints the rest. Where no
// runtime could be had there is no table to show; an object there always is.
func (r *report) write(stdout io.Writer, asJSON bool, say func(string, ...any)) error {
	for _, e := range r.Errors {
		if e.Path == "" {
			say("%s", e.Error)
		} else {
			say("%s: %s", printable(e.Path), e.Error)
		}
	}
	for _, d := range r.differences {
		say("%s: the CPU counts otherwise", printable(d))
	}
	for _, d := range r.damaged {
		say("%s: not all of it arrived as it was sent", printable(d))
	}
	if asJSON {
		return r.writeJSON(stdout)
	}
	if r.Runtime == "" {
		return nil
	}
	return r.writeTable(stdout, widthOf(stdout))
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
