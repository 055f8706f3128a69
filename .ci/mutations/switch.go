package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// switches is a file that each package gets, with what the forms call.
const switches = `package %s

import (
	"os"
	"strconv"

	"github.com/gpuactor/gpuactor/device"
)

var mutNumber, _ = strconv.Atoi(os.Getenv("GPUACTOR_MUTATION"))

func mutOn(n int) bool { return n == mutNumber }

func mutErr(n int, f func() error) error {
	if mutOn(n) {
		return nil
	}
	return f()
}

func mutPoint(n int, p device.Point) device.Point {
	if mutOn(n) {
		return device.Point{}
	}
	return p
}

// mutFlush submits and records nothing: who is told of the point learns of an event that
// has not been recorded.
func mutFlush(n int, s *device.Stream, mark bool) (device.Point, error) {
	if mutOn(n) {
		return s.Next(), nil
	}
	return s.Flush(mark)
}

func mutDone(n int, f func() (bool, error)) (bool, error) {
	if mutOn(n) {
		return true, nil
	}
	return f()
}

func mutDo(n int, f func()) {
	if !mutOn(n) {
		f()
	}
}

var _, _, _, _, _, _ = mutOn, mutErr, mutPoint, mutFlush, mutDone, mutDo
`

// overlay writes into dir a copy of every file with sites, in which site i is switched
// off where GPUACTOR_MUTATION is i+1, and the file that go build -overlay reads. The
// code of the repository is not touched.
func overlay(root, dir string, all []site) (string, error) {
	replace := map[string]string{}
	put := func(at, text string) error {
		to := filepath.Join(dir, strings.ReplaceAll(at, "/", "_"))
		replace[filepath.Join(root, at)] = to
		return os.WriteFile(to, []byte(text), 0o600)
	}
	for _, pkg := range packages {
		if err := put(pkg+"/mutation_switches.go", fmt.Sprintf(switches, pkg)); err != nil {
			return "", err
		}
	}
	byFile := map[string][]int{}
	for i, s := range all {
		byFile[s.file] = append(byFile[s.file], i)
	}
	for file, is := range byFile {
		src, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return "", err
		}
		if err := put(file, switched(string(src), all, is)); err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, b, 0o600)
}

// switched is a file's text with the sites is of all switched, the last one first. A
// site inside another one is switched inside what the other one has become.
func switched(src string, all []site, is []int) string {
	for k := len(is) - 1; k >= 0; k-- {
		i := is[k]
		s := all[i]
		end := s.offset + len(s.old)
		for j := k + 1; j < len(is); j++ { // those inside it have grown
			if in := all[is[j]]; in.offset >= s.offset && in.offset < s.offset+len(s.old) {
				end += len(fmt.Sprintf(in.form, is[j]+1, ""))
			}
		}
		src = src[:s.offset] + fmt.Sprintf(s.form, i+1, src[s.offset:end]) + src[end:]
	}
	return src
}
