// Mutations takes each protection of the library away in turn, and shows what finds it:
// a table of protection, found by, seeds needed.
//
//	go run ./.ci/mutations            all of them
//	go run ./.ci/mutations -list      the protections
//	go run ./.ci/mutations -only 12   one
//
// The protections are found in the code of buffer, actor and transfer: every record, wait, look
// for readiness, check of ownership or thread, and point of last use. So one that is
// added later is tried as well, and fails here until something finds it missing.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	list := flag.Bool("list", false, "list the protections")
	only := flag.Int("only", 0, "try this `number` alone")
	keep := flag.Bool("v", false, "print what the programs printed")
	flag.Parse()
	if err := run(*list, *only, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "mutations:", err)
		os.Exit(1)
	}
}

func run(list bool, only int, verbose bool) error {
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	all, err := sites(root)
	if err != nil {
		return err
	}
	if list {
		for i, s := range all {
			fmt.Printf("%3d %-9s %s:%d %s: %s\n", i+1, s.kind, s.file, s.line, s.in, s.what)
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "mutations")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	over, err := overlay(root, dir, all)
	if err != nil {
		return err
	}
	bin := filepath.Join(dir, "proof.test")
	build := exec.Command("go", "test", "-c", "-overlay", over, "-o", bin, "./.ci/mutations/proof")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("with switches in it the code does not build: %w", err)
	}
	return try(bin, all, only, verbose)
}
