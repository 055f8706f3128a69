package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

const source = `package p

import "io"

const Untyped, hidden = 3, 4
const Typed K = 1 << 40

type K int64

func (k K) String() string { return "" }
func (k *K) set()          {}

type S[T any, U ~int | string] struct {
	A, b T
	io.Reader
}

func (s *S[T, U]) Get(n int) (v T, err error) { return }

type I interface {
	io.Closer
	Do(x ...K) map[string]*K
}
type Closed interface{ lock() }
type Number interface{ ~int | ~float64 }
type Alias = io.Writer

var V = []io.Reader(nil)

func New[T any](f func(T) error) *S[T, int] { return nil }
func unseen()                              {}
`

var want = []string{
	"const Typed K = 1099511627776",
	"const Untyped = 3",
	"func (*S[T, U]).Get(n int) (v T, err error)",
	"func (K).String() string",
	"func New[T any](f func(T) error) *S[T, int]",
	"type Alias = io.Writer",
	"type Closed interface",
	"type Closed interface, unexported methods",
	"type I interface",
	"type I interface, Close() error",
	"type I interface, Do(x ...K) map[string]*K",
	"type K int64",
	"type Number interface{~int | ~float64}",
	"type S[T any, U ~int | string] struct",
	"type S[T any, U ~int | string] struct, A T",
	"type S[T any, U ~int | string] struct, embedded Reader io.Reader",
	"var V []io.Reader",
}

func TestEveryExportedIdentifierHasItsLine(t *testing.T) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	p, err := conf.Check("p", fset, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := exported(p)
	slices.Sort(got)
	if d := diff(want, got); len(d) > 0 {
		t.Errorf("- wanted, + got:\n%s", strings.Join(d, "\n"))
	}
}

func TestDiffSeesEveryKindOfDifference(t *testing.T) {
	for _, c := range []struct{ old, now, want string }{
		{"a b", "a b", ""},
		{"a b", "a c", "-b +c"},
		{"a", "a b", "+b"},
		{"a b", "b a", "the same lines in another order, or more than once"},
		{"a", "a a", "the same lines in another order, or more than once"},
	} {
		if got := strings.Join(diff(strings.Fields(c.old), strings.Fields(c.now)), " "); got != c.want {
			t.Errorf("%q to %q: got %q, want %q", c.old, c.now, got, c.want)
		}
	}
}
