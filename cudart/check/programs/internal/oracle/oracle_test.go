package oracle_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/oracle"
	"github.com/gpuactor/gpuactor/cudart/check/programs/internal/program"
)

// What every program of the files expects was written by hand.
func TestFilesExpectWhatTheOracleSays(t *testing.T) {
	files, err := filepath.Glob("../../testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		programs, err := program.Parse(filepath.Base(file), string(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range programs {
			t.Run(p.Name, func(t *testing.T) {
				var reports []program.Expect
				for _, r := range oracle.Reports(p) {
					reports = append(reports, p.Report(r.Kind, r.First, r.Second))
				}
				if why := p.Fails(reports); why != "" {
					t.Errorf("%s:%d: %s\n%s", p.File, p.Line, why, p)
				}
			})
		}
	}
}
