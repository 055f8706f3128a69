//go:build linux

// Command static is a program with the simulator alone, built without cgo. It
// opens a runtime, and fails where its own file needs a dynamic linker.
package main

import (
	"debug/elf"
	"fmt"
	"os"

	"github.com/gpuactor/gpuactor/cudart"
	_ "github.com/gpuactor/gpuactor/cudart/sim"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "static:", err)
		os.Exit(1)
	}
}

func run() error {
	rt, err := cudart.Open(cudart.Options{})
	if err != nil {
		return err
	}
	defer rt.Close()
	devices, err := rt.Devices()
	if err != nil {
		return err
	}
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			return fmt.Errorf("not static: its file has a %v segment", p.Type)
		}
	}
	fmt.Printf("static, on runtime %s with %d devices\n", rt.Name(), len(devices))
	return nil
}
