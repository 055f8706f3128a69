package cudart_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gpuactor/gpuactor"

// floors are the layers, lowest first: a package imports only what stands
// before it. The last two stand side by side.
var floors = []string{"cudart", "device", "buffer", "actor", "transfer", "examples", "bench"}

// outside are the dependencies that each package, with those below it in the
// tree, is allowed to have. Each has its reason in docs/decisions.
var outside = map[string][]string{
	"cudart/nvidia": {"github.com/ebitengine/purego"},
	"device":        {"golang.org/x/sync/semaphore"},
	"actor":         {"github.com/asynkron/protoactor-go"},
	"transfer":      {"golang.org/x/sync/semaphore"},
	"examples":      {"github.com/schollz/progressbar/v3", "golang.org/x/term"},
}

// outsideTests are what test files may import besides.
var outsideTests = []string{"go.uber.org/goleak", "pgregory.net/rapid"}

// listed is a package as `go list -json` describes it.
type listed struct {
	ImportPath, Name                   string
	Imports, TestImports, XTestImports []string
}

// violations says, for each import that the layers do not allow, who imports
// what and why that is wrong.
func violations(pkgs []listed) []string {
	var bad []string
	for _, p := range pkgs {
		from := strings.TrimPrefix(p.ImportPath, module+"/")
		if !slices.Contains(floors, floor(from)) {
			bad = append(bad, from+": not on any floor")
			continue
		}
		tests := slices.Concat(p.TestImports, p.XTestImports)
		for _, imp := range p.Imports {
			if why := refuse(from, p.Name, imp, false); why != "" {
				bad = append(bad, fmt.Sprintf("%s imports %s: %s", from, imp, why))
			}
		}
		for _, imp := range tests {
			if why := refuse(from, p.Name, imp, true); why != "" {
				bad = append(bad, fmt.Sprintf("a test of %s imports %s: %s", from, imp, why))
			}
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

// refuse says why the package at from must not import imp, or nothing.
func refuse(from, name, imp string, test bool) string {
	to, ours := strings.CutPrefix(imp, module+"/")
	if !ours {
		return refuseOutside(from, imp, test)
	}
	if !slices.Contains(floors, floor(to)) {
		return "not on any floor"
	}
	a, b := slices.Index(floors, floor(from)), slices.Index(floors, floor(to))
	if b > a || (b < a && floor(to) == "examples") {
		return "it stands above"
	}
	// Above the seam nobody knows which runtime there is, and no runtime knows
	// another. Programs, tests and packages for tests choose one.
	chooses := test || name == "main" || strings.HasSuffix(name, "test") || floor(from) == "bench"
	if floor(to) == "cudart" && to != "cudart" && runtimeOf(to) != runtimeOf(from) && !chooses && !decorates(from, to) {
		return "only programs and tests choose a runtime"
	}
	if from == "cudart" && !test {
		return "the seam imports nothing of ours"
	}
	return ""
}

// runtimeOf is the runtime, or the decorator, that a package is a part of.
func runtimeOf(pkg string) string {
	parts := strings.SplitN(pkg, "/", 3)
	return path.Join(parts[:min(2, len(parts))]...)
}

// decorates reports whether to is the decorator that package actor may put around
// whatever runtime it is given: that chooses none.
func decorates(from, to string) bool { return from == "actor" && to == "cudart/check" }

func refuseOutside(from, imp string, test bool) string {
	if first, _, _ := strings.Cut(imp, "/"); !strings.Contains(first, ".") {
		return "" // the standard library
	}
	allows := func(allowed []string) bool {
		return slices.ContainsFunc(allowed, func(a string) bool { return within(imp, a) })
	}
	for at := from; at != "."; at = path.Dir(at) {
		if allows(outside[at]) {
			return ""
		}
	}
	if test && allows(outsideTests) {
		return ""
	}
	return "a dependency that it is not allowed"
}

func floor(pkg string) string {
	first, _, _ := strings.Cut(pkg, "/")
	return first
}

// within reports whether p is root or below it.
func within(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

func TestViolationsAreFound(t *testing.T) {
	for _, c := range []struct {
		name    string
		from    listed
		refused bool
	}{
		{"down", listed{ImportPath: "buffer", Imports: []string{"device", "cudart"}}, false},
		{"up", listed{ImportPath: "device", Imports: []string{"buffer"}}, true},
		{"up from a sub-package", listed{ImportPath: "actor/actortest", Name: "actortest", Imports: []string{"transfer"}}, true},
		{"up in a test", listed{ImportPath: "device", XTestImports: []string{"actor"}}, true},
		{"inside one floor", listed{ImportPath: "actor/actortest", Name: "actortest", Imports: []string{"actor"}}, false},
		{"the root of the seam and its runtime", listed{ImportPath: "cudart", Imports: []string{"cudart/sim"}}, true},
		{"its test may", listed{ImportPath: "cudart", XTestImports: []string{"cudart/sim"}}, false},
		{"a runtime and the seam", listed{ImportPath: "cudart/sim", Imports: []string{"cudart"}}, false},
		{"a runtime and another", listed{ImportPath: "cudart/sim", Imports: []string{"cudart/nvidia"}}, true},
		{"a decorator and a runtime", listed{ImportPath: "cudart/check", Imports: []string{"cudart/sim"}}, true},
		{"a decorator, for an option", listed{ImportPath: "actor", Imports: []string{"cudart/check"}}, false},
		{"a decorator's parts", listed{ImportPath: "actor", Imports: []string{"cudart/check/clock"}}, true},
		{"a decorator, below the options", listed{ImportPath: "device", Imports: []string{"cudart/check"}}, true},
		{"two parts of a decorator", listed{ImportPath: "cudart/check/programs", Imports: []string{"cudart/check/clock"}}, false},
		{"a decorator's own parts", listed{ImportPath: "cudart/check", Imports: []string{"cudart/check/clock"}}, false},
		{"a program", listed{ImportPath: "cudart/check/programs", Name: "main", Imports: []string{"cudart/sim", "cudart/check"}}, false},
		{"a layer and a runtime", listed{ImportPath: "transfer", Imports: []string{"cudart/nvidia"}}, true},
		{"a layer's test and a runtime", listed{ImportPath: "transfer", TestImports: []string{"cudart/sim"}}, false},
		{"a package for tests and a runtime", listed{ImportPath: "actor/actortest", Name: "actortest", Imports: []string{"cudart/sim"}}, false},
		{"an example", listed{ImportPath: "examples/x", Name: "main", Imports: []string{"transfer", "cudart/sim", "cudart/nvidia", "golang.org/x/term", "github.com/schollz/progressbar/v3"}}, false},
		{"bench and a runtime", listed{ImportPath: "bench", Imports: []string{"transfer", "cudart/sim"}}, false},
		{"bench and examples", listed{ImportPath: "bench", Imports: []string{"examples/x"}}, true},
		{"a layer and an example", listed{ImportPath: "transfer", Imports: []string{"examples/x"}}, true},
		{"a new top-level package", listed{ImportPath: "util"}, true},
		{"using one", listed{ImportPath: "actor", Imports: []string{"util"}}, true},
		{"std and cgo", listed{ImportPath: "cudart/nvidia", Imports: []string{"C", "unsafe", "encoding/json"}}, false},
		{"allowed outside", listed{ImportPath: "cudart/nvidia", Imports: []string{"github.com/ebitengine/purego"}}, false},
		{"allowed elsewhere only", listed{ImportPath: "cudart/sim", Imports: []string{"github.com/ebitengine/purego"}}, true},
		{"a sub-package of an allowed one", listed{ImportPath: "actor", Imports: []string{"github.com/asynkron/protoactor-go/actor"}}, false},
		{"a name that only begins alike", listed{ImportPath: "actor", Imports: []string{"github.com/asynkron/protoactor-gox"}}, true},
		{"another package of x/sync", listed{ImportPath: "device", Imports: []string{"golang.org/x/sync/errgroup"}}, true},
		{"a test's dependency", listed{ImportPath: "device", XTestImports: []string{"go.uber.org/goleak", "pgregory.net/rapid"}}, false},
		{"the same outside a test", listed{ImportPath: "device", Imports: []string{"go.uber.org/goleak"}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := listed{ImportPath: module + "/" + c.from.ImportPath, Name: c.from.Name}
			p.Imports, p.TestImports, p.XTestImports = full(c.from.Imports), full(c.from.TestImports), full(c.from.XTestImports)
			if got := violations([]listed{p}); (len(got) > 0) != c.refused {
				t.Errorf("refused %v, want %v: %v", len(got) > 0, c.refused, got)
			}
		})
	}
}

// full spells our packages in the table above as the go command does.
func full(imports []string) []string {
	var out []string
	for _, i := range imports {
		if slices.Contains(floors, floor(i)) || floor(i) == "util" {
			i = module + "/" + i
		}
		out = append(out, i)
	}
	return out
}

// TestImportFloors checks this module, as each platform builds it.
func TestImportFloors(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command: ", err)
	}
	for _, env := range [][]string{
		{"GOOS=linux", "CGO_ENABLED=1"},
		{"GOOS=linux", "CGO_ENABLED=0"},
		{"GOOS=darwin", "CGO_ENABLED=0"},
		{"GOOS=windows", "CGO_ENABLED=0"},
	} {
		pkgs := goList(t, env)
		if len(pkgs) == 0 || !slices.ContainsFunc(pkgs, func(p listed) bool { return p.ImportPath == module+"/cudart" }) {
			t.Fatalf("%v: go list does not see this module: %d packages", env, len(pkgs))
		}
		for _, v := range violations(pkgs) {
			t.Errorf("%v: %s", env, v)
		}
	}
}

func goList(t *testing.T, env []string) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Imports,TestImports,XTestImports", module+"/...")
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var pkgs []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}
