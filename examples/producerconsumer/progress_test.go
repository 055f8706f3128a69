package main

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
)

func TestNoBarWhereNobodyWatches(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	p.begin([]file{{"a", 10}})
	p.add(10)
	p.say("a %s", "word")
	p.finish()
	if out.String() != "producerconsumer: a word\n" {
		t.Errorf("got %q", &out)
	}
	f, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if watched(f) || widthOf(f) != 80 {
		t.Error("a file passes for a terminal")
	}
}

// barred is a progress with its bar drawn into a buffer.
func barred(sizes ...int64) (*progress, *bytes.Buffer) {
	out := new(bytes.Buffer)
	p := newProgress(out)
	p.total = 1
	for _, s := range sizes {
		p.total += s
	}
	p.bar = newBar(out, p.total)
	return p, out
}

func TestBar(t *testing.T) {
	p, out := barred(100, 100)
	p.add(100)
	if !strings.Contains(out.String(), "scanning") {
		t.Errorf("no bar was drawn: %q", out)
	}
	p.say("a word")
	if !strings.Contains(out.String(), "\rproducerconsumer: a word\n") {
		t.Errorf("the word does not stand on a cleared line: %q", out)
	}
	p.finish()
	if !strings.HasSuffix(out.String(), "\r") {
		t.Errorf("the bar is left behind: %q", out)
	}
}

// Files of /proc have more bytes than their sizes say, also than all together.
func TestBarOutlastsFilesThatHaveMoreThanTheySay(t *testing.T) {
	p, _ := barred(0, 10)
	for range 50 {
		p.add(7)
		if p.bar.IsFinished() {
			t.Fatal("the bar ended before the scan did")
		}
	}
	if got := p.bar.State().CurrentBytes; got != 350 {
		t.Errorf("the bar stands at %v bytes of 350", got)
	}
	p.finish()
	p.add(1) // a chunk that comes late is harmless
}

func TestProgressFromManyGoroutines(t *testing.T) {
	p, _ := barred(4000)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				p.add(1)
			}
			p.say("done")
		})
	}
	wg.Wait()
	if p.done != 4000 {
		t.Errorf("%d of 4000 bytes", p.done)
	}
}
