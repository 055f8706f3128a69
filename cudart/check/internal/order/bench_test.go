package order

import (
	"fmt"
	"testing"
)

// BenchmarkHandoff is a buffer that goes from stream to stream and back: two kernels,
// two records, two waits, and now and then a question of the host; each operation is
// one of the commands. With bystanders there are as many other streams, which hand
// other buffers round, and of which the host knows nothing for 16 rounds.
func BenchmarkHandoff(b *testing.B) {
	for _, others := range []int{0, 10, 1000} {
		b.Run(fmt.Sprintf("bystanders-%d", others), func(b *testing.B) {
			w := newWorld(Options{})
			s, t, x := w.stream("s"), w.stream("t"), w.NewBuffer("x", 4096)
			there, back := w.d0.NewEvent("there"), w.d0.NewEvent("back")
			ring, events := make([]*Stream, others), make([]*Event, others)
			for i := range ring {
				ring[i], events[i] = w.stream("o"), w.d0.NewEvent("o")
				w.Run(ring[i], Note{})
				w.record(ring[i], events[i])
				w.wait(s, events[i])
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				switch i % 6 {
				case 0:
					w.w(s, "fill", x)
				case 1:
					w.record(s, there)
				case 2:
					w.wait(t, there)
				case 3:
					w.w(t, "add", x)
				case 4:
					w.record(t, back)
				case 5:
					w.wait(s, back)
					if i%96 == 95 {
						w.Query(Note{}, there).Passed()
					}
				}
			}
			if len(w.got) > 0 {
				b.Fatalf("reported %q", w.got)
			}
		})
	}
}

// BenchmarkParts is a kernel on each of n parts of a buffer in turn, and the host that
// knows it complete each time all have been touched.
func BenchmarkParts(b *testing.B) {
	for _, n := range []int{1, 64, 4096} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(Options{})
			s, x := w.stream("s"), w.NewBuffer("x", uint64(n)*64)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				w.Run(s, Note{}, x.At(uint64(i%n)*64, 64, Write))
				if i%n == n-1 {
					s.Now().Passed()
				}
			}
		})
	}
}
