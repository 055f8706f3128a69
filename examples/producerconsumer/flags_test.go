package main

import (
	"bytes"
	"errors"
	"flag"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	defaults := options{chunk: 1 << 20, producers: 2, consumers: 2, depth: 8, devices: 2, args: []string{"."}}
	with := func(change func(*options)) options {
		o := defaults
		change(&o)
		return o
	}
	for _, c := range []struct {
		args string
		want options
	}{
		{"", defaults},
		{"a b", with(func(o *options) { o.args = []string{"a", "b"} })},
		{"-- -x", with(func(o *options) { o.args = []string{"-x"} })},
		{"-chunk 1 -producers 3 -consumers 4 -depth 5 -devices 6", with(func(o *options) {
			o.chunk, o.producers, o.consumers, o.depth, o.devices = 1, 3, 4, 5, 6
		})},
		{"-colocate -verify -json -runtime sim", with(func(o *options) {
			o.colocate, o.verify, o.json, o.runtime = true, true, true, "sim"
		})},
		{"-runtime auto", with(func(o *options) { o.runtime = "auto" })},
		{"-virtual 4", with(func(o *options) { o.virtual, o.devices = 4, 4 })},
		{"-virtual 4 -devices 3", with(func(o *options) { o.virtual, o.devices = 4, 3 })},
	} {
		var stderr bytes.Buffer
		got, err := parse(strings.Fields(c.args), &stderr)
		if err != nil || !reflect.DeepEqual(got, c.want) || stderr.Len() > 0 {
			t.Errorf("%q: got %+v, %v, %q\nwant %+v", c.args, got, err, &stderr, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"-chunk 0", "-chunk is 0"},
		{"-chunk -1", "-chunk is -1"},
		{"-chunk 1073741825", "-chunk is 1073741825"},
		{"-chunk 1M", `"1M"`},
		{"-producers 0", "-producers"},
		{"-consumers 0", "-consumers"},
		{"-depth 0", "-depth"},
		{"-devices 0", "-devices"},
		{"-virtual -1", "-virtual"},
		{"-runtime cuda", `"cuda"`},
		{"-runtime=", `""`},
		{"-verbose", "verbose"},
		{"-verify=maybe", "maybe"},
	} {
		var stderr bytes.Buffer
		_, err := parse(strings.Fields(c.args), &stderr)
		if !errors.Is(err, errUsage) {
			t.Errorf("%q: got %v, want a usage error", c.args, err)
		}
		if !strings.Contains(stderr.String(), c.says) || !strings.Contains(stderr.String(), "usage:") {
			t.Errorf("%q: standard error does not say %q, or how to use it: %s", c.args, c.says, &stderr)
		}
	}
	if _, err := parse([]string{"-h"}, new(bytes.Buffer)); !errors.Is(err, flag.ErrHelp) || errors.Is(err, errUsage) {
		t.Errorf("-h: got %v", err)
	}
}
