package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// The main job is that of examples/producerconsumer, on files that are in memory and
// as it is by default: producers read a file in chunks and count the bytes of each,
// consumers add the counts of a chunk to those of its file, and those of the file to
// all. Reading is copying a chunk into the producer's own memory, for every side.
const (
	jobBytes     = 128 * MiB
	jobWarm      = 16 * MiB     // before it: memory and maps have grown by then
	jobFile      = 4*MiB + 4099 // bytes of a file; its last chunk is short
	jobChunk     = MiB
	jobDepth     = 8
	jobProducers = 2
	jobConsumers = 2
)

type histogram [256]uint64

// mainJob is the input and what came out.
type mainJob struct {
	files  [][]byte
	counts []histogram // of each file

	mu    sync.Mutex
	total histogram
}

func newMainJob(bytes int) *mainJob {
	text := words(bytes)
	j := &mainJob{}
	for len(text) > 0 {
		n := min(jobFile, len(text))
		j.files = append(j.files, text[:n:n])
		text = text[n:]
	}
	j.counts = make([]histogram, len(j.files))
	return j
}

// words is text of n bytes, the same each time. No two chunks of it are alike.
func words(n int) []byte {
	const letters = "etaoin shrdlu etaoins cmfwyp et vbgkqjxz, . ETA\n0123"
	r := rand.New(rand.NewPCG(1, 2))
	part := make([]byte, 3*MiB+17)
	for i := range part {
		part[i] = letters[r.IntN(len(letters))]
	}
	text := make([]byte, n)
	for at := 0; at < n; {
		at += copy(text[at:], part)
	}
	return text
}

// add adds a consumer's total to that of all.
func (j *mainJob) add(part []uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, c := range part {
		j.total[i] += c
	}
}

// check counts once more, in the plainest way.
func (j *mainJob) check() error {
	var sum histogram
	for i, f := range j.files {
		var want histogram
		for _, b := range f {
			want[b]++
		}
		if j.counts[i] != want {
			return fmt.Errorf("bench: file %d of %d, of %d bytes, is counted wrong", i, len(j.files), len(f))
		}
		for b, c := range want {
			sum[b] += c
		}
	}
	if j.total != sum {
		return errors.New("bench: the total is not the sum of the files")
	}
	return nil
}

// on is a round of the job, in 10⁹ bytes a second; do does it.
func on(do func(*Rig, *mainJob) (time.Duration, error)) func(*Rig) (float64, error) {
	return func(r *Rig) (float64, error) {
		if _, err := do(r, newMainJob(jobWarm)); err != nil {
			return 0, err
		}
		n := r.small(jobBytes)
		j := newMainJob(n)
		took, err := do(r, j)
		if err == nil {
			err = j.check()
		}
		return float64(n) / float64(took.Nanoseconds()), err
	}
}

func mainJobRounds() []Round {
	return []Round{
		{"main-job", "plain", Gigabytes, on(func(_ *Rig, j *mainJob) (time.Duration, error) { return j.plain(), nil })},
		{"main-job", "go-sim", Gigabytes, on(simulated)},
	}
}
