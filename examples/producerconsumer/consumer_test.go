package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/gpuactor/gpuactor/actor"
	"github.com/gpuactor/gpuactor/buffer"
	"github.com/gpuactor/gpuactor/transfer"
)

// consumed gives one consumer, on the second device, what produce sends from the
// first one.
func consumed(t *testing.T, j job, produce func(s *actor.Stream, to *actor.Chan[chunk]) error) outcome {
	t.Helper()
	sys, err := open(j)
	if err != nil {
		t.Fatal(err)
	}
	limit, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	defer sys.Close(limit)
	var r results
	p := newPipeline(sys, j, &r)
	g := sys.Group(limit)
	g.Go("consumer", sys.Device(1), func(s *actor.Stream) error { return p.consume(s, 0) })
	g.Go("producer", sys.Device(0), func(s *actor.Stream) error {
		defer p.in[0].Close()
		return produce(s, p.in[0])
	})
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := sys.Counts().Reclaimed; n > 0 {
		t.Errorf("%d buffers had to be taken back", n)
	}
	return r.outcome()
}

// made is a chunk of data with the counts of counts.
func made(t *testing.T, s *actor.Stream, file int, data, counts string) chunk {
	t.Helper()
	b, err := transfer.FromSlice(s, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	other, err := transfer.FromSlice(s, []byte(counts))
	if err != nil {
		t.Fatal(err)
	}
	bins, err := buffer.New[uint32](s, values)
	if err == nil {
		err = errors.Join(count256(s, other, bins), other.Release(s))
	}
	if err != nil {
		t.Fatal(err)
	}
	return chunk{file: file, data: b, bins: bins}
}

// With -verify what has arrived is counted once more, where it has arrived.
func TestDamageIsNoticed(t *testing.T) {
	for _, verify := range []bool{true, false} {
		o := usual()
		o.verify, o.consumers, o.producers = verify, 1, 2
		j := job{options: o, files: []file{{path: "good"}, {path: "bad"}}, log: newLog(t.Logf)}
		out := consumed(t, j, func(s *actor.Stream, to *actor.Chan[chunk]) error {
			good, bad := made(t, s, 0, "abc", "abc"), made(t, s, 1, "abc", "abd")
			good.last, bad.last = true, true
			return errors.Join(to.Send(s, good), to.Send(s, bad))
		})
		want := []string{"bad"}
		if !verify {
			want = nil
		}
		if !slices.Equal(out.damaged, want) {
			t.Errorf("verify %v: damaged %q", verify, out.damaged)
		}
	}
}

// A file that fails behind its first chunk is a problem, and its bytes are not in
// the total; one that has no end, since its producer was interrupted, is nothing.
func TestHalfAFileIsNoFile(t *testing.T) {
	o := usual()
	o.consumers, o.producers = 1, 3
	j := job{options: o, files: []file{{path: "whole"}, {path: "fails"}, {path: "stops"}}, log: newLog(t.Logf)}
	out := consumed(t, j, func(s *actor.Stream, to *actor.Chan[chunk]) error {
		return errors.Join(
			to.Send(s, made(t, s, 2, "xyz", "xyz")),
			to.Send(s, made(t, s, 1, "xyz", "xyz")),
			to.Send(s, made(t, s, 0, "abc", "abc")),
			to.Send(s, chunk{file: 1, last: true, err: errors.New("the disk is gone")}),
			to.Send(s, chunk{file: 0, last: true}),
		)
	})
	if len(out.files) != 1 || len(out.problems) != 1 || out.problems[0] != (problem{"fails", "the disk is gone"}) {
		t.Errorf("files %d, problems %+v", len(out.files), out.problems)
	}
	isRight(t, out, map[string]string{"whole": "abc"})
}
