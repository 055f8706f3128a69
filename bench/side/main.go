// Side does the measured work with gpuactor, a round at a time, and prints each
// round's result as a line of JSON.
//
//	side pipeline-4KiB-8 go-threads     one round
//	side                                a round for each line "CASE SIDE" of the input
//	side -list                          what it can do
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/gpuactor/gpuactor/bench"
	_ "github.com/gpuactor/gpuactor/cudart/nvidia"
	_ "github.com/gpuactor/gpuactor/cudart/sim"
)

func main() {
	quick := flag.Bool("quick", false, "a fraction of the work: does it run, not how fast")
	list := flag.Bool("list", false, "list the cases and sides")
	flag.Parse()
	if *list {
		for _, r := range bench.Rounds() {
			fmt.Println(r.Case, r.Side)
		}
		return
	}
	if err := run(&bench.Rig{Quick: *quick}, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "side:", err)
		os.Exit(1)
	}
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
