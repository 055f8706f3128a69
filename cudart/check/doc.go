// Package check is a race checker around any runtime, the simulator or the driver: it
// reports accesses to memory that nothing orders, when the second one is issued. It
// looks at what is submitted and at what the host learns, never at when a device does
// something, so that a program that goes right by luck is reported like one that does not.
//
//	rt := check.New(sim.New(sim.Config{}), check.Options{Report: check.To(t)})
//
// A [Checker] is a [cudart.Runtime]. In a program with actors it is one option, or none:
//
//	sys, err := actor.NewSystem(actor.WithCheck(check.To(t))) // in a test: it fails on a report
//	GPUACTOR_CHECK=race ./program                             // reports go to the log
//
// # What is reported
//
// See [Kind]. Races are between commands of two streams, and between a command and the
// host: a download that is read before it is known to be complete, the source of an
// upload that is overwritten. Allocations and frees count as writes of all the memory.
// Every pair of commands is reported once; what [Options.History] forgets is left out.
//
// Kernels' accesses are what their arguments declare ([cudart.Arg]); scalars that are
// addresses, and what a kernel touches beyond, are not seen. Of the host's, those that are
// told by [Checker.HostAccess] are seen; package buffer tells where it gives pinned memory
// to the CPU. Memory that was not allocated through the checker is not looked at, nor are
// calls that other libraries make. There is one host clock: what one thread of the CPU
// has learnt counts as learnt by all.
//
// A command that the runtime refuses, and those that it skips then, have not happened; but
// where it is refused because its memory was freed, it is reported, and counts.
//
// # Cost
//
// A lock is held over each submission and each query, so that the order that the checker
// sees is the runtime's; submissions of different streams no longer run beside each
// other. Beside that a command takes 0.3–0.5 µs, and its place in the program, where
// there is an [Options.Site], as much again; remembered is what the host does not know to
// be complete. See BenchmarkCommand, and the case handoff-check
// of package bench.
package check
