package cudart_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/gpuactor/gpuactor/cudart"
	"github.com/gpuactor/gpuactor/cudart/cudarttest"
)

const ptxHead = ".version 6.0\n.target sm_50\n.address_size 64\n"

func TestParsePTX(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []cudart.Entry
	}{
		{"no kernels", ptxHead, nil},
		{"no parameters", ptxHead + ".visible .entry a() { ret; }\n.entry b { ret; }",
			[]cudart.Entry{{Name: "a"}, {Name: "b"}}},
		{"scalars", ptxHead + ".visible .entry k(.param .u8 a, .param .s16 b,\n\t.param .f32 c, .param .b64 d)\n{ ret; }",
			[]cudart.Entry{{Name: "k", Params: []cudart.Param{{Name: "a", Bytes: 1}, {Name: "b", Bytes: 2}, {Name: "c", Bytes: 4}, {Name: "d", Bytes: 8}}}}},
		{"pointers", ptxHead + ".entry k(.param .u64 .ptr .global .align 4 a, .param .u64 .ptr b, .param .u64 c) { ret; }",
			[]cudart.Entry{{Name: "k", Params: []cudart.Param{{Name: "a", Bytes: 8, Pointer: true}, {Name: "b", Bytes: 8, Pointer: true}, {Name: "c", Bytes: 8}}}}},
		{"structs", ptxHead + ".entry k(.param .align 8 .b8 a[24], .param .b32 b[ 3 ]) { ret; }",
			[]cudart.Entry{{Name: "k", Params: []cudart.Param{{Name: "a", Bytes: 24}, {Name: "b", Bytes: 12}}}}},
		{"odd names", ptxHead + ".entry _Z1k$x(.param .u32 %p$0) { ret; }",
			[]cudart.Entry{{Name: "_Z1k$x", Params: []cudart.Param{{Name: "%p$0", Bytes: 4}}}}},
		{"comments", ptxHead + "// .entry no()\n/* .entry\nnever() */ .entry k /* ( */ ( .param .u32 a // , .param .u32 b\n) { ret; }",
			[]cudart.Entry{{Name: "k", Params: []cudart.Param{{Name: "a", Bytes: 4}}}}},
		{"functions are no kernels", ptxHead + ".func (.param .u32 r) f(.param .u32 a) { ret; }\n.entry k() .maxntid 32 { ret; }", []cudart.Entry{{Name: "k"}}},
		{"a comment in front", "//\n// made by hand\n//\n" + ptxHead + ".entry k() { ret; }", []cudart.Entry{{Name: "k"}}},
		{"windows lines", strings.ReplaceAll(ptxHead+".entry k(.param .u32 a)\n{ ret; }", "\n", "\r\n"),
			[]cudart.Entry{{Name: "k", Params: []cudart.Param{{Name: "a", Bytes: 4}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := cudart.ParsePTX(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestParsePTXRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"nothing", "", ".version"},
		{"prose", "this is not PTX", ".version"},
		{"no version", ".target sm_50\n.entry k() { ret; }", ".version"},
		{"no target", ".version 6.0\n.entry k() { ret; }", ".target"},
		{"a version in a comment", "/* .version 6.0 */\n.target sm_50\n", ".version"},
		{"a parameter without a type", ptxHead + ".entry k(.param a) { ret; }", "kernel k"},
		{"a parameter that is none", ptxHead + ".entry k(.reg .u32 a) { ret; }", `".reg .u32 a"`},
		{"a predicate", ptxHead + ".entry k(.param .pred a) { ret; }", `".param .pred a"`},
		{"an odd width", ptxHead + ".entry k(.param .u12 a) { ret; }", `".param .u12 a"`},
		{"a width of nothing", ptxHead + ".entry k(.param .u0 a) { ret; }", `".param .u0 a"`},
		{"too wide", ptxHead + ".entry k(.param .b256 a) { ret; }", `".param .b256 a"`},
		{"too large", ptxHead + ".entry k(.param .b8 a[4097]) { ret; }", "too large"},
		{"far too large", ptxHead + ".entry k(.param .b8 a[99999999999999999999]) { ret; }", "too large"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := cudart.ParsePTX(c.text)
			var e *cudart.Error
			if !errors.As(err, &e) || !errors.Is(err, cudart.ErrInvalidPTX) {
				t.Fatalf("%+v, %v", got, err)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q does not say %q", err, c.says)
			}
		})
	}
}

func FuzzParsePTX(f *testing.F) {
	f.Add(cudarttest.Kernels.PTX)
	f.Add(ptxHead + ".entry k(.param .align 8 .b8 a[24], .param .u64 .ptr .global b) { ret; }")
	f.Add(ptxHead + ".entry k(")
	f.Add(ptxHead + "/* .entry k()")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := cudart.ParsePTX(text)
		if err != nil {
			if entries != nil || !errors.Is(err, cudart.ErrInvalidPTX) {
				t.Fatalf("%+v, %v", entries, err)
			}
			return
		}
		for _, e := range entries {
			if e.Name == "" || !strings.Contains(text, e.Name) {
				t.Errorf("a kernel named %q", e.Name)
			}
			for _, p := range e.Params {
				if p.Name == "" || p.Bytes < 0 || p.Bytes > 16*4096 {
					t.Errorf("kernel %s has parameter %+v", e.Name, p)
				}
			}
		}
	})
}
