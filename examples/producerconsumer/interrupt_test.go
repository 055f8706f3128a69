package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Whenever the interrupt comes, what is complete is right, the total is that of
// exactly those files, and nothing is left behind.
func TestInterruptAtAnyTime(t *testing.T) {
	files := lengths()
	for name, change := range map[string]func(*options){
		"the defaults":      func(o *options) {},
		"one device":        func(o *options) { o.devices, o.virtual = 1, min(o.virtual, 1) },
		"little room":       func(o *options) { o.depth, o.chunk, o.producers = 1, 1000, 5 },
		"on shared threads": func(o *options) { o.colocate, o.chunk = true, 500 },
	} {
		o := usual()
		change(&o)
		t.Run(name, func(t *testing.T) {
			tree(t, files)
			for _, reads := range []int64{0, 1, 2, 3, 5, 8, 13, 21, 34, 55} {
				ctx, cancel := context.WithCancel(t.Context())
				j := jobOf(t, o)
				var done atomic.Int64
				j.progress = func(int) {
					if done.Add(1) == reads {
						cancel()
					}
				}
				if reads == 0 {
					cancel()
				}
				out, err := scanned(t, ctx, j)
				if ctx.Err() != nil && !errors.Is(err, context.Canceled) || ctx.Err() == nil && err != nil {
					t.Errorf("after %d reads: error %v", reads, err)
				}
				isRight(t, out, files)
				cancel()
			}
		})
	}
}

// A file without an end does not keep the scan from ending.
func TestInterruptInAnEndlessFile(t *testing.T) {
	for _, chunk := range []int{4096, 1 << 20, 64 << 20} {
		t.Run(fmt.Sprint(chunk), func(t *testing.T) {
			tree(t, map[string]string{"a": "aaa", "endless": ""})
			if err := os.Truncate("endless", 1<<40); err != nil {
				t.Skip("no file of that size: ", err)
			}
			o := usual()
			o.chunk = chunk
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			j := jobOf(t, o)
			var read atomic.Int64
			j.progress = func(n int) {
				if read.Add(int64(n)) > 1<<20 {
					cancel()
				}
			}
			out, err := scanned(t, ctx, j)
			if !errors.Is(err, context.Canceled) || len(out.problems) > 0 {
				t.Error(err, out.problems)
			}
			// Not even the rest of a large chunk is read.
			if n := read.Load(); n > 2*pieceLen+10 {
				t.Errorf("%d bytes read", n)
			}
			isRight(t, out, map[string]string{"a": "aaa"})
		})
	}
}

// A read that hangs cannot be interrupted: the scan is left behind, with what is
// complete.
func TestInterruptOfWhatHangs(t *testing.T) {
	files := map[string]string{"a": "aaa", "b": "bbb", "hangs": random(3 << 20)}
	tree(t, files)
	o := usual()
	o.producers = 1 // and so the others come before
	j := jobOf(t, o)
	var once sync.Once
	hung, release := make(chan struct{}), make(chan struct{})
	j.progress = func(n int) {
		if n == pieceLen {
			once.Do(func() { close(hung) })
			<-release
		}
	}
	sys, err := open(j)
	if err != nil {
		t.Fatal(err)
	}
	var r results
	p := newPipeline(sys, j, &r)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	left, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		left <- untilLeft(ctx, func() error {
			err := p.run(ctx)
			ended <- err
			return err
		})
	}()
	<-hung
	for _, c := range p.in {
		for c.Len() > 0 { // what has been received by then is finished
			runtime.Gosched()
		}
	}
	cancel()
	select {
	case err := <-left:
		out := r.outcome()
		if !errors.Is(err, context.Canceled) || out.runtime != o.runtime || len(out.devices) != 2 || len(out.files) != 2 {
			t.Errorf("%v: %d files, on %s, %q", err, len(out.files), out.runtime, out.devices)
		}
		isRight(t, out, files)
	case <-time.After(10 * time.Second):
		t.Error("the scan waits for a read that hangs")
	}
	close(release)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if err := sys.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
