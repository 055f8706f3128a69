package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// finding is what a run of the proof says: who noticed that something is missing, in
// which program, after how many seeds. The proof prints it as
//
//	FOUND seeds=3 program=pull by=checker: race …
type finding struct{ seeds, program, by string }

const found = "FOUND "

// limit is how long a run of the proof may take: a protection whose absence has
// everything stand still is found by that.
const limit = 90 * time.Second

// try runs the proof once as it is, which must find nothing, and once for each site,
// a few at a time.
func try(bin string, all []site, only int, verbose bool) error {
	if f, out, err := prove(bin, 0, false); f != nil || err != nil {
		return fmt.Errorf("with every protection in place the proof fails: %w\n%s", err, out)
	}
	results := make([]*finding, len(all))
	outputs := make([][]byte, len(all))
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range all {
		if only != 0 && only != i+1 {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			for _, debug := range []bool{false, true} { // some checks are of one, some of the other
				if results[i], outputs[i], _ = prove(bin, i+1, debug); results[i] != nil {
					break
				}
			}
		})
	}
	wg.Wait()
	fmt.Printf("%3s  %-9s  %-62s  %5s  %s\n", "", "kind", "protection", "seeds", "found by")
	missed, tried := 0, 0
	for i, s := range all {
		if only != 0 && only != i+1 {
			continue
		}
		tried++
		at := fmt.Sprintf("%s:%d %s", s.file, s.line, s.in)
		f := results[i]
		if f == nil {
			missed++
			f = &finding{"-", "", "NOTHING: " + s.what}
		}
		by := f.by
		if f.program != "" {
			by = f.program + ": " + by
		}
		fmt.Printf("%3d  %-9s  %-62s  %5s  %s\n", i+1, s.kind, short(at, 62), f.seeds, short(by, 90))
		if verbose || f.seeds == "-" {
			fmt.Printf("%s\n", outputs[i])
		}
	}
	fmt.Printf("%d of %d protections taken away, and found missing: %d %%\n", tried-missed, tried, 100*(tried-missed)/max(tried, 1))
	if missed > 0 {
		return fmt.Errorf("%d protections can be taken away and nothing notices", missed)
	}
	return nil
}

// prove runs the proof with one site switched off, 0 for none.
func prove(bin string, number int, debug bool) (*finding, []byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "-test.v", "-test.run", "^TestProof$", "-test.timeout", limit.String())
	cmd.Env = append(os.Environ(), fmt.Sprintf("GPUACTOR_MUTATION=%d", number))
	if debug {
		cmd.Env = append(cmd.Env, "GPUACTOR_DEBUG=1")
	}
	out, err := cmd.CombinedOutput()
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if _, text, ok := strings.Cut(lines.Text(), found); ok {
			return parse(text), out, nil
		}
	}
	switch {
	case err == nil:
		return nil, out, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &finding{"1", "", "everything stands still"}, out, nil
	}
	return &finding{"1", "", crash(out)}, out, err
}

// crash is the first line that says how a run of the proof ended that found nothing by
// itself.
func crash(out []byte) string {
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if t := lines.Text(); strings.HasPrefix(t, "panic:") || strings.HasPrefix(t, "fatal error:") {
			return t
		}
	}
	return "the proof failed"
}

func parse(text string) *finding {
	f := &finding{}
	for _, field := range []struct {
		name string
		into *string
	}{{"seeds=", &f.seeds}, {"program=", &f.program}} {
		text = strings.TrimPrefix(text, field.name)
		*field.into, text, _ = strings.Cut(text, " ")
	}
	f.by = strings.TrimPrefix(text, "by=")
	return f
}

// short is a text of at most n characters.
func short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
