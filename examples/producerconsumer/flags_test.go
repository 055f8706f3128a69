package main

import (
	"bytes"
	"errors"
	"flag"
	"math"
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
			o.chunk, o.producers, o.consumers, o.depth, o.devices, o.asked = 1, 3, 4, 5, 6, 6
		})},
		{"-colocate -verify -json -runtime sim", with(func(o *options) {
			o.colocate, o.verify, o.json, o.runtime = true, true, true, "sim"
		})},
		{"-chunk 4KiB -all", with(func(o *options) { o.chunk, o.all = 4096, true })},
		{"-runtime auto", with(func(o *options) { o.runtime = "auto" })},
		{"-virtual 4", with(func(o *options) { o.virtual, o.devices = 4, 4 })},
		{"-virtual 4 -devices 3", with(func(o *options) { o.virtual, o.devices, o.asked = 4, 3, 3 })},
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
		{"-chunk 2G", "-chunk is 2147483648"},
		{"-chunk 1MB", `"1MB"`},
		{"-virtual 17", "-virtual is 17"},
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
		if !isUsage(err) {
			t.Errorf("%q: got %v, want a usage error", c.args, err)
		}
		if !strings.Contains(stderr.String(), c.says) || !strings.HasSuffix(stderr.String(), "-h for help\n") || strings.Count(stderr.String(), "\n") != 2 {
			t.Errorf("%q: standard error does not say %q in a line, and how to get help: %s", c.args, c.says, &stderr)
		}
	}
	if _, err := parse([]string{"-h"}, new(bytes.Buffer)); !errors.Is(err, flag.ErrHelp) || isUsage(err) {
		t.Errorf("-h: got %v", err)
	}
}

func isUsage(err error) bool {
	_, ok := errors.AsType[usageError](err)
	return ok
}

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int{
		"0": 0, "1": 1, "65536": 64 << 10, "7b": 7, "1k": 1 << 10, "64KiB": 64 << 10, "3K": 3 << 10, "1M": 1 << 20, "2mib": 2 << 20, "1g": 1 << 30,
		"-1": -1, "9999999999G": math.MaxInt >> 30 << 30, "-9999999999G": -(math.MaxInt >> 30 << 30),
	} {
		var b byteSize
		if err := b.Set(text); err != nil || int(b) != want {
			t.Errorf("%s: got %d, %v, want %d", text, b, err, want)
		}
	}
	for _, text := range []string{"", "k", "1kB", "1MB", "1.5M", "1T", "1 k", "k1", "1kk"} {
		if err := new(byteSize).Set(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	for b, want := range map[byteSize]string{0: "0", 1: "1", 1023: "1023", 1024: "1KiB", 1536: "1536", 1 << 20: "1MiB", 3 << 30: "3GiB", 1 << 40: "1024GiB"} {
		if got := b.String(); got != want {
			t.Errorf("%d: got %s, want %s", int(b), got, want)
		}
	}
}
