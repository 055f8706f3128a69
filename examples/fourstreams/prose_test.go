package main

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		indent  int
		text    string
		columns int
		want    string
	}{
		{0, "one line", 40, "one line\n"},
		{2, "aaaa bbbb cccc", 4, "  aaaa bbbb\n  cccc\n"},
		{2, "aaaa bbbbb", 4, "  aaaa bbbbb\n"},
		{2, "aaaa bbbbbb", 4, "  aaaa\n  bbbbbb\n"},
		{0, "aaaaaaaaaaaaaaaaaaaaaaaa b", 4, "aaaaaaaaaaaaaaaaaaaaaaaa\nb\n"},
		{0, "öööööö ööööö", 4, "öööööö ööööö\n"},
	} {
		if got := wrap(c.indent, strings.Fields(c.text), c.columns); got != c.want {
			t.Errorf("%q in %d: got\n%s\nwant\n%s", c.text, c.columns, got, c.want)
		}
	}
}
