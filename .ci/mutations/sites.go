package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// packages are those whose protections are listed.
var packages = []string{"buffer", "actor", "transfer"}

// site is one place in the code that protects something.
type site struct {
	file   string // from the repository's root
	line   int
	in     string // the function
	kind   string // record, wait, readiness, ownership, thread, reuse
	what   string // the call or condition, as it stands in the code
	offset int    // in bytes
	old    string // the expression that protects
	form   string // how it is switched off: a format of the site's number and old
}

// Forms of switching a site off; the functions are those of switches.
const (
	asError     = "mutErr(%d, func() error { return %s })" // no error
	asTrue      = "(mutOn(%d) || %s)"                      // true
	asFalse     = "!mutOn(%d) && (%s)"                     // false
	asZeroPoint = "mutPoint(%d, %s)"                       // the point of nothing
	asDone      = "mutDone(%d, func() (bool, error) { return %s })"
	asNothing   = "mutDo(%d, func() { %s })"
)

// calls are the functions that protect by being called, by name.
var calls = map[string]struct{ kind, form string }{
	"WaitFor":     {"wait", asError},
	"WaitForHeld": {"wait", asError},
	"AwaitPoint":  {"readiness", asError},
	"Await":       {"readiness", asError},
	"Known":       {"readiness", asTrue},
	"CanGive":     {"ownership", asError},
	"check":       {"thread", asError},
	"Uses":        {"ownership", asError},
	"Touched":     {"record", asNothing},
}

// refusals are the functions and types that make the errors of checks: a condition
// whose body returns one is a check.
var refusals = map[string]string{
	"ownership":      "ownership",
	"refuse":         "ownership",
	"OwnershipError": "ownership",
	"PoisonError":    "ownership",
	"ThreadError":    "thread",
	"ErrNoStream":    "ownership",
}

// sites are all of the repository's, in the order of files and lines.
func sites(root string) ([]site, error) {
	var all []site
	for _, pkg := range packages {
		files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		if err != nil {
			return nil, err
		}
		sort.Strings(files)
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			found, err := inFile(root, f)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

type finder struct {
	fset *token.FileSet
	src  []byte
	file string
	in   string
	out  []site
}

func inFile(root, path string) ([]site, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	f := &finder{fset: token.NewFileSet(), src: src, file: filepath.ToSlash(rel)}
	tree, err := parser.ParseFile(f.fset, path, src, 0)
	if err != nil {
		return nil, err
	}
	for _, d := range tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		f.in = name(fn)
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			f.look(n)
			return true
		})
	}
	return f.out, nil
}

// name is a function's, with its receiver's type.
func name(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
			continue
		case *ast.IndexExpr:
			t = x.X
			continue
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		}
		return fn.Name.Name
	}
}

func (f *finder) text(n ast.Node) string {
	return string(f.src[f.fset.Position(n.Pos()).Offset:f.fset.Position(n.End()).Offset])
}

func (f *finder) add(n ast.Node, kind, what, form string) {
	pos := f.fset.Position(n.Pos())
	what = strings.Join(strings.Fields(what), " ")
	f.out = append(f.out, site{f.file, pos.Line, f.in, kind, what, pos.Offset, f.text(n), form})
}

func (f *finder) look(n ast.Node) {
	switch n := n.(type) {
	case *ast.CallExpr:
		f.call(n)
	case *ast.IfStmt:
		if kind := f.refuses(n.Body); kind != "" && !errorTest(n.Cond) {
			f.add(n.Cond, kind, "if "+f.text(n.Cond), asFalse)
		}
	case *ast.SwitchStmt:
		if n.Tag == nil { // else a case is a value, and no condition
			f.cases(n.Body.List)
		}
	case *ast.KeyValueExpr:
		if k, ok := n.Key.(*ast.Ident); ok && k.Name == "After" {
			if lit, ok := n.Value.(*ast.CompositeLit); ok {
				for _, e := range lit.Elts {
					f.add(e, "wait", "After: "+f.text(e), asZeroPoint)
				}
			}
		}
	}
}

// cases looks at the cases of a switch.
func (f *finder) cases(list []ast.Stmt) {
	for _, s := range list {
		clause := s.(*ast.CaseClause)
		if kind := f.refuses(&ast.BlockStmt{List: clause.Body}); kind != "" {
			for _, c := range clause.List {
				f.add(c, kind, "case "+f.text(c), asFalse)
			}
		}
	}
}

// call looks at calls that protect, and at points given to those that release or hand
// over.
func (f *finder) call(c *ast.CallExpr) {
	callee := ""
	switch fun := c.Fun.(type) {
	case *ast.SelectorExpr:
		callee = fun.Sel.Name
	case *ast.Ident:
		callee = fun.Name
	}
	if m, ok := calls[callee]; ok && !options(c) {
		f.add(c, m.kind, f.text(c), m.form)
		return
	}
	switch callee {
	case "Done":
		if len(c.Args) == 1 && f.text(c.Args[0]) == "nil" { // a goroutine looks, and has no stream that waits behind it
			f.add(c, "readiness", f.text(c), asDone)
		}
	case "Flush": // without a mark it is a matter of speed, but where the stream is lent
		if sel, ok := c.Fun.(*ast.SelectorExpr); ok && len(c.Args) == 1 && (f.text(c.Args[0]) != "false" || f.in == "Stream.Raw") {
			f.add(c, "record", f.text(c), "mutFlush(%d, "+f.text(sel.X)+", "+f.text(c.Args[0])+")%.0s")
		}
	case "Give", "Release", "end", "Pulled":
		for _, a := range c.Args {
			if f.isPoint(a) && f.text(c.Args[0]) != "nil" { // a goroutine has no stream, and gives the point of nothing
				f.add(a, "reuse", f.text(c), asZeroPoint)
			}
		}
	}
}

// isPoint guesses by the text whether an argument is a point: types are not known here,
// and what is no point does not compile when it is taken away.
func (f *finder) isPoint(a ast.Expr) bool {
	t := f.text(a)
	return t == "p" || t == "end" || strings.HasSuffix(t, ".point")
}

// options reports whether a call checks what a system is opened with: not a matter of
// order or ownership.
func options(c *ast.CallExpr) bool {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == "c"
}

// refuses is the kind of the check whose body this is, or empty: one that returns a
// refusal, or asks whether there is one.
func (f *finder) refuses(b *ast.BlockStmt) (kind string) {
	look := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && refusals[id.Name] != "" {
				kind = refusals[id.Name]
			}
			return true
		})
	}
	for _, s := range b.List {
		switch s := s.(type) {
		case *ast.ReturnStmt:
			look(s)
		case *ast.IfStmt:
			if s.Init != nil {
				look(s.Init)
			}
		}
	}
	return kind
}

// errorTest reports whether a condition only passes on an error that another check
// made.
func errorTest(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	if !ok {
		return false
	}
	x, ok := b.X.(*ast.Ident)
	return ok && x.Name == "err" && b.Op == token.NEQ
}
