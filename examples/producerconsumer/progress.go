package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows on standard error how far a scan has come, where that is a
// terminal, and passes on what is to be said meanwhile. Its methods may be
// called from any goroutine.
type progress struct {
	mu    sync.Mutex
	out   io.Writer
	bar   *progressbar.ProgressBar // nil where nobody watches
	done  int64
	total int64
}

func newProgress(out io.Writer) *progress { return &progress{out: out} }

// begin shows the bar. What is to be read is what the files' sizes say, in
// bytes, and one more: the bar ends itself when it is full, and must not before
// the scan does.
func (p *progress) begin(files []file) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = 1
	for _, f := range files {
		p.total += f.size
	}
	if watched(p.out) {
		p.bar = newBar(p.out, p.total)
	}
}

func newBar(out io.Writer, total int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription("scanning"),
		progressbar.OptionShowBytes(true),
		progressbar.OptionUseIECUnits(true),
		progressbar.OptionShowCount(),               // and so it moves also where a percent takes minutes
		progressbar.OptionSetRenderBlankState(true), // its clock starts now
		progressbar.OptionThrottle(65*time.Millisecond),
		progressbar.OptionSetWidth(barWidth(widthOf(out))),
		progressbar.OptionUseANSICodes(true), // clears also the ^C that a terminal puts behind it
		progressbar.OptionClearOnFinish(),
	)
}

// barWidth leaves room for the figures beside the bar, and for a ^C: what wraps
// cannot be cleared.
func barWidth(columns int) int { return min(max(4, columns-60), 40) }

// add says that bytes more were read.
func (p *progress) add(bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += int64(bytes)
	if p.bar == nil {
		return
	}
	// Files of /proc have more than they say.
	if p.done >= p.total {
		p.total = p.done + 1
		p.bar.ChangeMax64(p.total)
	}
	_ = p.bar.Set64(p.done) // a bar that cannot be drawn must not end the scan
}

// say prints a line without disturbing the bar.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintf(p.out, "producerconsumer: "+format+"\n", args...)
}

// finish takes the bar away.
func (p *progress) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Exit()
		_ = p.bar.Clear()
		p.bar = nil
	}
}

// watched reports whether w is a terminal.
func watched(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// widthOf is the width of a terminal in characters, 80 for anything else.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 80
}
