package main

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct{ in, wants, err string }{
		{`{"a": [ ], "b": true}`, "a b", ""},
		{`{"a": [ ], "b": true}`, "a=[] b=true", ""},
		{`{"a": [1]}`, "a=[]", `"a" is [1]`},
		{`{"a": 1}`, "b", `no "b"`},
		{`{"a": 1} {"b": 1}`, "a", "not one"},
		{`loaded` + "\n" + `{"a": 1}`, "a", "not one"},
		{`[1]`, "", "not one"},
		{``, "", "not one"},
	} {
		err := check([]byte(c.in), strings.Fields(c.wants))
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%s has %s: %v", c.in, c.wants, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s has %s: got %v, want %s", c.in, c.wants, err, c.err)
		}
	}
}
