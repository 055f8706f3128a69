// Package order decides which accesses to memory nothing orders. It is the core of
// package check, and knows nothing of CUDA's calls: it is told of streams, events,
// buffers and what the host does, in the order in which that is issued, and reports
// each pair of accesses that is wrong when the second one is issued. What it finds does
// not depend on what a device does when.
//
//	e := order.New(order.Options{Report: func(r order.Report) { ... }})
//	d := e.NewContext("device 0")
//	a, b := d.NewStream("a", order.NonBlocking), d.NewStream("b", order.NonBlocking)
//	x := e.NewBuffer("x", 1024)
//	ev := d.NewEvent("e")
//	e.Run(a, order.Note{Op: "kernel"}, x.All(order.Write))
//	e.Record(a, order.Note{Op: "record"}, ev)
//	e.Run(b, order.Note{Op: "kernel"}, x.All(order.Read)) // reported: a race
//
// # Clocks
//
// A stream's commands are numbered; (stream, number) is a tick. What a command comes
// after is, of its own stream, all smaller numbers, and of each other stream the
// numbers up to the one that the stream's clock has. A record keeps the clock, a wait
// joins it to another stream's. Both are one comparison where the clock has it already
// (an epoch, as in FastTrack), and a clock that was kept is never changed, so that a
// record copies nothing.
//
// There is one host clock for the process: every thread of the CPU counts as one,
// whose statements are in the order in which the engine is told of them. What that
// clock has is kept in the streams, as the number known complete. Every command is
// issued by the host, so it comes after everything that the host knew before. That is
// what makes the rest cheap: what the host knows is in no other clock, and an access
// that it knows complete is forgotten. An access of the host itself is complete at
// once, so it is compared and not kept.
//
// # What always holds
//
//   - O1: clocks are closed: a clock that has (s, n) has all that (s, n) comes after. So
//     a wait for what is covered is nothing.
//   - O2: an access is forgotten only when everything issued later comes after it, or, of
//     more than [Options.History] by one stream to the same bytes, when a later one of
//     the same kind is kept: what races with the forgotten one races with that, too.
//   - O3: each pair of commands is reported at most once, when the later one is issued.
//   - O4: a free is remembered as long as its buffer is, also where the host knows it.
//   - O5: nothing refers to a stream, an event or a buffer but its owner and what is not
//     forgotten yet, so that the engine does not grow with what came and went.
//
// The table of tests is in engine_test.go: each rule of the stream model with a program
// that keeps it and one that does not, by name.
package order
