// Side does the measured work with gpuactor, a round at a time, and prints each
// round's result as a line of JSON.
//
//	side pipeline-4KiB-8 go-threads     one round
//	side                                a round for each line "CASE SIDE" of the input
//	side -list                          what it can do
//
// With -profile FILE the CPU profile of all rounds is written there.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"

	"github.com/gpuactor/gpuactor/bench"
	_ "github.com/gpuactor/gpuactor/cudart/nvidia"
	_ "github.com/gpuactor/gpuactor/cudart/sim"
)

func main() {
	quick := flag.Bool("quick", false, "a fraction of the work: does it run, not how fast")
	list := flag.Bool("list", false, "list the cases and sides")
	profile := flag.String("profile", "", "write a CPU profile to this `file`")
	flag.Parse()
	if *list {
		for _, r := range bench.Rounds() {
			fmt.Println(r.Case, r.Side)
		}
		return
	}
	stop, err := startProfile(*profile)
	if err == nil {
		err = errors.Join(run(&bench.Rig{Quick: *quick}, flag.Args()), stop())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "side:", err)
		os.Exit(1)
	}
}

// startProfile profiles into a file; stop ends it. No name is no profile.
func startProfile(name string) (stop func() error, err error) {
	if name == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { pprof.StopCPUProfile(); return f.Close() }, nil
}

func run(rig *bench.Rig, args []string) error {
	if len(args) != 2 {
		return errors.Join(rig.Serve(os.Stdin, os.Stdout), rig.Close())
	}
	res := rig.Run(args[0], args[1])
	err := json.NewEncoder(os.Stdout).Encode(res)
	if res.Error != "" {
		err = errors.Join(err, errors.New(res.Error))
	}
	return errors.Join(err, rig.Close())
}
