// Compare measures all sides in one run, interleaved, and prints one table: what
// gpuactor takes for each case, what a user would write instead takes, and what the
// machine allows.
//
//	compare -sides DIR                    all cases, results into bench/results
//	compare -sides DIR -case pipeline     the cases whose names begin so
//	compare -sides DIR -json              the results as JSON on the standard output
//
// A result's JSON has date, gpu, driver, commit and cases. A case has case, title,
// sides (of each: median, min, max and unit), limit, and goals: each with the side
// that it is for, the ratio (the median of the ratios of the rounds), the goal, and
// whether it was met; ratio and met are null where there was no value. The case's own
// ratio, goal and met are those of the worst of its goals: one that was missed, by the
// largest factor; else one without a value; else the one that was met by the smallest.
// A goal with check is one of the opponent itself, and speaks for a case that has no
// other.
//
// DIR holds the programs: side, baseline, and pytorch.py, for which python3 is on the
// path. A run that is incomplete says so, and leaves no result behind.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

type options struct {
	sides, only, out, commit string
	rounds                   int
	limit                    time.Duration
	json, quick              bool
}

func main() {
	var o options
	flag.StringVar(&o.sides, "sides", ".", "folder of the programs")
	flag.StringVar(&o.only, "case", "", "only cases whose names begin with one of these, separated by commas")
	flag.StringVar(&o.out, "out", filepath.Join("bench", "results"), "folder for a complete result")
	flag.StringVar(&o.commit, "commit", "", "the commit that the programs were built from; empty: the file commit in -sides")
	flag.IntVar(&o.rounds, "rounds", fullRounds, "rounds of each side")
	flag.DurationVar(&o.limit, "limit", 8*time.Minute, "no round begins later than this")
	flag.BoolVar(&o.json, "json", false, "print JSON in place of the table")
	flag.BoolVar(&o.quick, "quick", false, "a fraction of the work: does it run, not how fast; leaves no result")
	flag.Parse()
	code, err := run(o, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
	}
	os.Exit(code)
}

// run's exit codes: 0 complete, 1 it could not run, 3 incomplete. A goal that was
// missed is a result, not a failure.
func run(o options, stdout, stderr io.Writer) (int, error) {
	cases := selected(table(), o.only)
	if len(cases) == 0 {
		return 1, fmt.Errorf("no case begins with %q", o.only)
	}
	m, err := machine(o)
	if err != nil {
		return 1, err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	began := time.Now()
	s := newSamples()
	programs := launch(o.sides, o.quick, stderr)
	incomplete := interleave(cases, o.rounds, programs.run, s, func(round int) bool {
		select {
		case <-interrupted:
			return false
		default:
			if time.Since(began) > o.limit {
				return false
			}
			fmt.Fprintf(stderr, "round %d of %d, %s\n", round+1, o.rounds, time.Since(began).Round(time.Second))
			return true
		}
	})
	programs.close()
	rep := judge(cases, s, m)
	if o.rounds < fullRounds {
		incomplete = append(incomplete, fmt.Sprintf("%d rounds are fewer than %d", o.rounds, fullRounds))
	}
	if o.quick {
		incomplete = append(incomplete, "a quick run measures nothing")
	}
	rep.Incomplete = incomplete
	if err := show(rep, o, stdout); err != nil {
		return 1, err
	}
	fmt.Fprintf(stderr, "%d cases in %s; most of it for %s\n", len(cases), time.Since(began).Round(time.Second), programs.slowest(5))
	if len(incomplete) > 0 {
		return 3, nil
	}
	if o.only != "" {
		fmt.Fprintln(stderr, "some of the cases only: no result was written")
		return 0, nil
	}
	path, err := write(o.out, rep)
	if err != nil {
		return 1, err
	}
	fmt.Fprintln(stderr, "written:", path)
	return 0, nil
}

func show(rep report, o options, stdout io.Writer) error {
	if !o.json {
		return printTable(stdout, rep)
	}
	enc := json.NewEncoder(stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(rep)
}

// selected are the cases whose names begin with one of the prefixes.
func selected(cases []benchCase, only string) []benchCase {
	if only == "" {
		return cases
	}
	var some []benchCase
	for _, c := range cases {
		for p := range strings.SplitSeq(only, ",") {
			if strings.HasPrefix(c.name, p) {
				some = append(some, c)
				break
			}
		}
	}
	return some
}

// machine is what the result is named by.
func machine(o options) (info, error) {
	m := info{Date: time.Now().UTC().Format("2006-01-02"), Commit: o.commit}
	if m.Commit == "" {
		b, err := os.ReadFile(filepath.Join(o.sides, "commit"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return m, err
		}
		m.Commit = strings.TrimSpace(string(b))
	}
	m.GPU, m.Driver = gpu()
	return m, nil
}
